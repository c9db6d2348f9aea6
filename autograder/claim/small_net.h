/* small_net.h: a net of whole numbers, by operations and by modules, with exact gradients.
 *
 * maxpool 3,2 -> conv 2 to 3 -> ReLU -> flatten -> linear 18 to 4 -> ReLU -> linear 4 to 3 */
#ifndef TESTS_SMALL_NET_H
#define TESTS_SMALL_NET_H

#include "graph_build.h"

/* the pixels, then weight and bias of each layer */
enum { SMALL_NET_LEAVES = 7 };

typedef struct small_net {
    tl_real *x, *w[3], *b[3];
    tl_real *by;                    /* the loss is the sum of outputs times these */
    double *value;                  /* of the output, [2,3] */
    double *grad[SMALL_NET_LEAVES]; /* of the loss by each leaf */
} small_net;

/* Draws a net until all its gradients are certain. */
small_net small_net_draw(claim *c);
/* The net made of modules, run on the judged code: `passes` times forward and backward on one tape,
 * each followed by a forward without recording. Output and gradients must be the definition's,
 * gradients as many times as there are passes. */
void expect_small_net(claim *c, const call_target *t, const small_net *n, int passes);

#endif
