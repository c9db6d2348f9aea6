/* device_atomic_functions.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_DEVICE_ATOMIC_FUNCTIONS_H
#define HOSTCUDA_DEVICE_ATOMIC_FUNCTIONS_H
#include "hostcuda/hostcuda.h"
#endif
