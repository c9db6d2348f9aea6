/* cuda_runtime.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_CUDA_RUNTIME_H
#define HOSTCUDA_CUDA_RUNTIME_H
#include "hostcuda/hostcuda.h"
#endif
