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
#include "hostcuda/atomics.h"
#include "hostcuda/names.h"

#define HOSTCUDA 1
/* After the system's headers: some of them change under it. */
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif

#endif
