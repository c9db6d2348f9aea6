/* hostcuda/hostcuda.h: everything a rewritten CUDA file sees; the rewriter includes it first. */
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "hostcuda/math.h"
#include "hostcuda/types.h"
#include "hostcuda/kernel.h"
#include "hostcuda/warp.h"
#include "hostcuda/ptx.h"
#include "hostcuda/atomics.h"
#include "hostcuda/names.h"
#include "hostcuda/nodes.h"
#include "hostcuda/heap.h"
#include "hostcuda/hints.h"

#ifdef HOSTCUDA_CHECK
/* As calls they reach the hooks of CHECK=1; a compiler would expand the others without one. */
#define __builtin_memcpy  memcpy
#define __builtin_memmove memmove
#define __builtin_memset  memset
#endif

#define HOSTCUDA     1
#define HC_CUDA_ARCH 750 /* __CUDA_ARCH__ in device code */
/* After the system's headers: some of them change under it. */
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
/* By these of CUDA's guards NVIDIA's helper_cuda.h knows what it may offer. */
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__

#endif
