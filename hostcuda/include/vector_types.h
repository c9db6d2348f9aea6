/* vector_types.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_VECTOR_TYPES_H
#define HOSTCUDA_VECTOR_TYPES_H
#include "hostcuda/hostcuda.h"
#endif
