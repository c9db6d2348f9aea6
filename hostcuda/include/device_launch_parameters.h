/* device_launch_parameters.h: a CUDA header's name for hostcuda's one header. */
#ifndef HOSTCUDA_DEVICE_LAUNCH_PARAMETERS_H
#define HOSTCUDA_DEVICE_LAUNCH_PARAMETERS_H
#include "hostcuda/hostcuda.h"
#endif
