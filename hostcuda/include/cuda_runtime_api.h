/* cuda_runtime_api.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_CUDA_RUNTIME_API_H
#define HOSTCUDA_CUDA_RUNTIME_API_H
#include "hostcuda/hostcuda.h"
#endif
