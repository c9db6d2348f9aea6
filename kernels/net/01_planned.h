/* 01_planned.h: the parts of rung 1 of nets. (01_planned.c says how it works; 02_tensor.cu has the
 * same places and steps) */
#ifndef NET_PLANNED_H
#define NET_PLANNED_H

#include "kernels/rungs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_NET_NONE = -1 }; /* no operand */

/* 01_steps.c: the list of calls and what they read and write. */

/* A buffer that no step has used yet, as an operand. */
short tl_rung_net_buffer(tl_net_plan *plan, size_t bytes);
/* Appends a step for a layer; its operands end with TL_NET_NONE or with the array. */
void tl_rung_net_call(tl_net_plan *plan, int layer,
                      tl_status (*run)(tl_ctx *, const tl_net_layer *, void *const[]),
                      const short operand[TL_NET_OPERANDS]);
/* net_fwd and net_bwd of the table: the steps one after the other. */
tl_status tl_rung_net_fwd(tl_ctx *ctx, const tl_net_plan *plan, tl_real *y, const tl_real *x,
                          void *memory);
tl_status tl_rung_net_bwd(tl_ctx *ctx, const tl_net_plan *plan, tl_real *dx, const tl_real *dy,
                          const tl_real *x, const tl_real *y, void *memory);

/* 01_place.c: gives each buffer its offset, and the plan its bytes: buffers that are needed at the
 * same time do not overlap. */
void tl_rung_net_place(tl_net_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
