/* vector_functions.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_VECTOR_FUNCTIONS_H
#define HOSTCUDA_VECTOR_FUNCTIONS_H
#include "hostcuda/hostcuda.h"
#endif
