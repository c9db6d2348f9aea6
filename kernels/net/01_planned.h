/* 01_planned.h: the two halves of rung 1 of nets. (01_planned.c says how it works) */
#ifndef NET_PLANNED_H
#define NET_PLANNED_H

#include "kernels/rungs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 01_place.c: gives each buffer its offset, and the plan its bytes: buffers that are needed at the
 * same time do not overlap. */
void tl_rung_net_place(tl_net_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
