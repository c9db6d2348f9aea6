/* cuda.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_CUDA_H
#define HOSTCUDA_CUDA_H
#include "hostcuda/hostcuda.h"
#endif
