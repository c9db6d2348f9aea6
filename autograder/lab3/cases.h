/* cases.h: what claims of lab 3 do with one layer, forward and backward, for a student's own cases,
 * too. */
#ifndef LAB3_CASES_H
#define LAB3_CASES_H

#include "autograder/claim/claim.h"

/* Pooling of these pixels; backward has winners of its own, among ties. */
void expect_maxpool2d(claim *c, const call_target *t, const tl_pool2d_geom *g, const tl_real *x);
/* With or without a bias; all three gradients. */
void expect_linear(claim *c, const call_target *t, tl_linear_geom g, bool bias);
/* Of these n numbers, which become the result; backward has a y and a dy of its own. */
void expect_relu(claim *c, const call_target *t, tl_real *x, size_t n);
/* Of these logits; backward has probabilities of its own. */
void expect_softmax_xent(claim *c, const call_target *t, tl_real *logits, int rows, int classes,
                         tl_real dloss);
/* In training and in evaluation, and backward; x lies between low and high. */
void expect_batchnorm(claim *c, const call_target *t, const tl_batchnorm_geom *g, double low,
                      double high);
void expect_dropout(claim *c, const call_target *t, size_t n, double p, uint32_t layer);

#endif
