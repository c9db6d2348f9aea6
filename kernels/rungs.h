/* rungs.h: one function per rung of the ladder (rungs.def). Each overwrites entries of a dispatch
 * table that holds the plain path; a rung that does not support a geometry calls the plain function
 * itself. */
#ifndef TL_RUNGS_H
#define TL_RUNGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tl/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For kernels that load and store `bytes` at a time, a power of two: whether that is allowed at p.
 * Contracts promise the alignment of one element alone (tl/context.h); NULL is aligned. */
static inline bool rung_aligned(const void *p, size_t bytes) { return (uintptr_t)p % bytes == 0; }

#define RUNG_FUNCTION(op, number, function, ...) void function(tl_backend *ops);
#define RUNG_CPU                                 RUNG_FUNCTION
#define RUNG_CUDA                                RUNG_FUNCTION
#define STEP_CPU                                 RUNG_FUNCTION
#define STEP_CUDA                                RUNG_FUNCTION
#define STEP_90A                                 RUNG_FUNCTION
#include "kernels/rungs.def"
#undef RUNG_FUNCTION

#ifdef __cplusplus
}
#endif
#endif
