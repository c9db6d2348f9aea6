/* cooperative_groups/reduce.h: a CUDA header's name for what stands beside it. */
#ifndef HOSTCUDA_COOPERATIVE_GROUPS_REDUCE_H
#define HOSTCUDA_COOPERATIVE_GROUPS_REDUCE_H
#include "../cooperative_groups.h"
#endif
