/* cuda_bf16.h: bfloat16; what the numbers do stands in hostcuda/narrow.h. */
#ifndef HOSTCUDA_CUDA_BF16_H
#define HOSTCUDA_CUDA_BF16_H

#include "hostcuda/hostcuda.h"
#include "hostcuda/narrow.h"

typedef hc::narrow<8> __nv_bfloat16;
typedef hc::narrow2<8> __nv_bfloat162;
typedef hc::narrow_raw<8> __nv_bfloat16_raw;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

HC_CONVERSIONS(bfloat16, __nv_bfloat16, __nv_bfloat162, 8)
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __nv_bfloat162(a, b);
}
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __nv_bfloat162(a, b);
}

#endif
