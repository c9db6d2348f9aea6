/* rungs.h: one function per rung of the ladder (rungs.def). Each overwrites entries of a dispatch
 * table that holds the plain path; a rung that does not support a geometry calls the plain function
 * itself. */
#ifndef TL_RUNGS_H
#define TL_RUNGS_H

#include "tl/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RUNG_FUNCTION(op, number, function) void function(tl_backend *ops);
#define RUNG_CPU                            RUNG_FUNCTION
#define RUNG_CUDA                           RUNG_FUNCTION
#include "kernels/rungs.def"
#undef RUNG_FUNCTION

#ifdef __cplusplus
}
#endif
#endif
