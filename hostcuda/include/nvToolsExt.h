/* nvToolsExt.h: a CUDA header's name for one of hostcuda's. */
#ifndef HOSTCUDA_NVTX_OLD
#define HOSTCUDA_NVTX_OLD
#include "nvtx3/nvToolsExt.h"
#endif
