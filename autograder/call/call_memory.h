/* call_memory.h: runs a program of the suite in fenced memory. Known to call_direct.c alone.
 *
 * What a program takes while it runs (a tape's values, scratch of a rule, a tensor) is no buffer of
 * the call, and the allocator rounds it up: what is written behind its end would go unseen. So a
 * program gets an allocator of its own, exact to the byte, each of whose blocks has a fence behind
 * it. */
#ifndef CALL_MEMORY_H
#define CALL_MEMORY_H

#include "call_row.h"

/* Whether an operation is such a program. Not training: its captured steps keep blocks for each
 * other. */
static inline bool call_is_fenced(call_op op) { return op >= CALL_tensor_new && op != CALL_train; }

/* The row on ctx, but for the allocator, with its steps counted (call_steps.h). Fills in w->overrun
 * and host_blocks. Blocks of the device that are still out afterwards count as live in ctx. */
tl_status call_run_fenced(const call_row *row, const tl_ctx *ctx, call_arguments *arguments,
                          call_wire *w);

/* Blocks of host memory that objects of this program have taken and not freed. call_host.c */
int64_t call_host_blocks(void);

/* Who took those that were taken since call_host_forget and are still out: up to CALL_KEPT places,
 * as addresses from the program's beginning on, then zeros. call_host.c */
void call_host_kept(size_t kept[CALL_KEPT]);
/* What is out now belongs to nobody's call any more. */
void call_host_forget(void);

#endif
