/* cases.h: what claims of lab 2 do with one geometry, for a student's own cases, too. */
#ifndef LAB2_CASES_H
#define LAB2_CASES_H

#include "autograder/claim/claim.h"

/* im2col of all images, against the definition. */
void expect_columns(claim *c, const call_target *t, const tl_conv2d_geom *g);
/* col2im; with `old`, dx starts as random numbers, else as zeros. */
void expect_pixels(claim *c, const call_target *t, const tl_conv2d_geom *g, bool old);

#endif
