/* cases.h: what claims of lab 4 do with one graph or one array, for a student's own cases, too. */
#ifndef LAB4_CASES_H
#define LAB4_CASES_H

#include "autograder/claim/graph_build.h"

/* The program reads the gradients of `leaves` variables, at most 8: each must be the derivative of
 * `loss`, times `times`. Returns false if the drawn numbers do not allow one right answer. */
bool expect_leaf_gradients(graph *g, const call_target *t, const char *what, int loss,
                           const int leaf[], int leaves, double times);

/* Loss and gradient of the logits, of a loss that is scaled by a factor. */
void expect_softmax(claim *c, const call_target *t, int rows, int classes, int factor);

enum { HE_NORMAL, HE_UNIFORM, XAVIER_NORMAL, XAVIER_UNIFORM, KINDS };
/* Each of n weights is the number that it has to draw; fans: fan_in, or the sum of both. */
void expect_draws(claim *c, const tl_real *w, int n, int which, double fans, uint64_t seed,
                  uint32_t stream);
/* n weights, drawn so. */
void expect_weights(claim *c, int which, int n, int in, int out, uint64_t seed, uint32_t stream);

#endif
