/* cooperative_groups/memcpy_async.h: copies by the threads of a group, and the wait for them. */
#ifndef HOSTCUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define HOSTCUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../hostcuda/async.h"

namespace cooperative_groups {

template <class Group, class To, class From, class Shape>
__forceinline__ void memcpy_async(const Group &group, To *to, const From *from,
                                  const Shape &bytes) {
    hc::copy_part<hc::alignment_for<Shape, To, From>()>(to, from, bytes, group.thread_rank(),
                                                        group.size());
}
/* In elements: as many as both sides have. */
template <class Group, class T, class Shape>
__forceinline__ void memcpy_async(const Group &group, T *to, const Shape &room, const T *from,
                                  const Shape &count) {
    size_t n = (size_t)room < (size_t)count ? (size_t)room : (size_t)count;
    hc::copy_part<hc::alignment_for<Shape, T, T>()>(to, from, n * sizeof(T), group.thread_rank(),
                                                    group.size());
}

template <class Group> void wait(const Group &group, HC_HERE) { group.sync(hc_file, hc_line); }
template <unsigned Stages, class Group> void wait_prior(const Group &group, HC_HERE) {
    group.sync(hc_file, hc_line);
}

} // namespace cooperative_groups
#endif
