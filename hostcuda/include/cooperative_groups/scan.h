/* cooperative_groups/scan.h: a CUDA header's name for what stands beside it. */
#ifndef HOSTCUDA_COOPERATIVE_GROUPS_SCAN_H
#define HOSTCUDA_COOPERATIVE_GROUPS_SCAN_H
#include "../cooperative_groups.h"
#endif
