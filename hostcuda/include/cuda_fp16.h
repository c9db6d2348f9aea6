/* cuda_fp16.h: half precision; what the numbers do stands in hostcuda/narrow.h. */
#ifndef HOSTCUDA_CUDA_FP16_H
#define HOSTCUDA_CUDA_FP16_H

#include "hostcuda/hostcuda.h"
#include "hostcuda/narrow.h"

typedef hc::narrow<5> __half;
typedef hc::narrow2<5> __half2;
typedef hc::narrow_raw<5> __half_raw;
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

HC_CONVERSIONS(half, __half, __half2, 5)
static inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
static inline __half2 make_half2(__half a, __half b) { return __half2(a, b); }

#endif
