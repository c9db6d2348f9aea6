/* rungs.h: one function per rung of the ladder. Each overwrites entries of a dispatch table that
 * holds the plain path; a rung that does not support a geometry calls the plain function itself. */
#ifndef TL_RUNGS_H
#define TL_RUNGS_H

#include "tl/backend.h"

/* cpu: kernels/conv2d/01_direct.c, convolution without an im2col matrix */
void tl_rung_conv2d_direct(tl_backend *ops);

#endif
