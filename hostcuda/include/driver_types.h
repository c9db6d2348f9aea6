/* driver_types.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_DRIVER_TYPES_H
#define HOSTCUDA_DRIVER_TYPES_H
#include "hostcuda/hostcuda.h"
#endif
