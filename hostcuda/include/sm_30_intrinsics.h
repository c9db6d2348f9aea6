/* sm_30_intrinsics.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_SM_30_INTRINSICS_H
#define HOSTCUDA_SM_30_INTRINSICS_H
#include "hostcuda/hostcuda.h"
#endif
