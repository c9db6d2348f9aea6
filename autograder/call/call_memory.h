/* call_memory.h: runs a program of the suite in fenced memory. Known to call_direct.c, which
 * runs programs, and to call_graph.c, which says what of one is a step.
 *
 * What a program takes while it runs (a tape's values, scratch of a rule, a tensor) is no buffer of
 * the call, and the allocator rounds it up: what is written behind its end would go unseen. So a
 * program gets an allocator of its own, exact to the byte, each of whose blocks has a fence behind
 * it. And a program's steps are counted: one of them can be made to fail. */
#ifndef CALL_MEMORY_H
#define CALL_MEMORY_H

#include "call_row.h"

/* Whether an operation is such a program. Not training: its captured steps keep blocks for each
 * other. */
static inline bool call_is_fenced(call_op op) { return op >= CALL_tensor_new && op != CALL_train; }

/* While a program is in a step on a device, nothing may wait, nor be copied between host and
 * device: who asks the table for it is refused, by a line that holds CALL_IN_A_STEP. */
void call_set_in_step(bool on);

/* The row on ctx, but for the allocator; step number w->failing_step fails, if it is not 0. Fills
 * in w->overrun, steps, refused and host_blocks. Blocks of the device that are still out afterwards
 * count as live in ctx. */
tl_status call_run_fenced(const call_row *row, const tl_ctx *ctx, call_arguments *arguments,
                          call_wire *w);

/* Blocks of host memory that objects of this program have taken and not freed. call_host.c */
int64_t call_host_blocks(void);

#endif
