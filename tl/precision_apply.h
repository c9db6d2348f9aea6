/* precision_apply.h: products of another precision than float's, on a table of float kernels. */
#ifndef TL_PRECISION_APPLY_H
#define TL_PRECISION_APPLY_H

#include "tl/backend.h"

/* Takes what rounds (tl/precision.h) over in *ops, which is complete but for tl_backend_fill, and
 * lets *exact keep the kernels for float and *rounding what rounds between them; for TL_FP32
 * nothing is changed. Both must live as long as *ops, in which rungs of this precision may then
 * take over.
 * TL_EINVAL in the double build, and for a GPU whose tensor cores lack the type: both are named. */
tl_status precision_apply(tl_backend *ops, tl_backend *exact, tl_backend *rounding,
                          tl_precision precision);

/* After the rungs of the table's precision: TL_EINVAL if TL_TF32X3, which nothing rounds to, has
 * found no kernel among them. */
tl_status precision_taken(const tl_backend *ops);

#endif
