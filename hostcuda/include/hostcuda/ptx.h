/* hostcuda/ptx.h: what the rewriter makes of an asm() of one PTX instruction (rewriter/ptx.c): its
 * registers and its operations. What PTX calls approximate is rounded once here. */
#ifndef HOSTCUDA_PTX_H
#define HOSTCUDA_PTX_H

#include "hostcuda/kernel.h"
#include "hostcuda/math.h"
#include "hostcuda/warp.h"

namespace hc {
namespace ptx {

inline unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned laneid() { return thread_rank() % 32; }
inline unsigned warpid() { return thread_rank() / 32; }
inline unsigned lanemask_eq() { return 1u << laneid(); }
inline unsigned lanemask_lt() { return lanemask_eq() - 1; }
inline unsigned lanemask_le() { return lanemask_eq() | lanemask_lt(); }
inline unsigned lanemask_gt() { return ~lanemask_le(); }
inline unsigned lanemask_ge() { return ~lanemask_lt(); }
inline unsigned cycles() { return (unsigned)hc_clock(); }
inline unsigned long long cycles64() { return (unsigned long long)hc_clock(); }

inline unsigned bfind(unsigned x) { return x ? 31u - (unsigned)__clz((int)x) : ~0u; }
inline unsigned bfe(unsigned x, unsigned at, unsigned bits) {
    at &= 255, bits &= 255;
    unsigned shifted = at < 32 ? x >> at : 0;
    return bits < 32 ? shifted & ((1u << bits) - 1) : shifted;
}
/* Of any three bits: bit 4 a + 2 b + c of the table. */
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
    unsigned result = 0;
    for (unsigned row = 0; row < 8; row++)
        if (table >> row & 1)
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}
inline unsigned mad_lo(unsigned a, unsigned b, unsigned c) { return a * b + c; }

} // namespace ptx
} // namespace hc
#endif
