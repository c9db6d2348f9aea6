/* hostcuda/scopes.h: libcu++'s scopes and memory orders. */
#ifndef HOSTCUDA_SCOPES_H
#define HOSTCUDA_SCOPES_H

#include <atomic>

namespace cuda {

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread = 10
};
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
namespace std {
using namespace ::std;
}

} // namespace cuda
#endif
