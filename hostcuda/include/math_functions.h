/* math_functions.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_MATH_FUNCTIONS_H
#define HOSTCUDA_MATH_FUNCTIONS_H
#include "hostcuda/hostcuda.h"
#endif
