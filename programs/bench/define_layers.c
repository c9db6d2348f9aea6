/* define_layers.c: pooling and the loss as the oracle has them (question.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "autograder/oracle/oracle.h"
#include "question.h"

static tl_pool2d_geom windows_of(const question *q) {
    tl_pool2d_geom g = {0};
    memcpy(&g, q->number, (size_t)q->b->numbers * sizeof(int));
    tl_pool2d_check(&g); /* as bench_set did */
    return g;
}

/* Each window's largest element, taken as it is, and where it stood. */
static void largest(question *q, const double *x, double *y, int32_t *argmax) {
    tl_pool2d_geom g = windows_of(q);
    oracle_maxpool2d_fwd(y, argmax, x, &g);
}

void define_maxpool2d_fwd(question *q) {
    tl_pool2d_geom g = windows_of(q);
    size_t xs = tl_pool2d_x_size(&g), ys = tl_pool2d_y_size(&g);
    double *y = question_doubles(q, ys), *where = question_doubles(q, ys);
    int32_t *argmax = (int32_t *)question_doubles(q, ys);
    largest(q, question_given(q, "x", 0, xs), y, argmax);
    for (size_t i = 0; i < ys; i++) where[i] = argmax[i];
    question_expect_within(q, "y", 0, y, NULL, ys);
    question_expect_within(q, "argmax", 0, where, NULL, ys);
}

/* argmax as some forward would leave it: of dx's elements before, which are as good as any. */
void define_maxpool2d_bwd(question *q) {
    tl_pool2d_geom g = windows_of(q);
    size_t xs = tl_pool2d_x_size(&g), ys = tl_pool2d_y_size(&g);
    int32_t *argmax = question_input(q, "argmax");
    double *want = question_doubles(q, xs), *scale = question_doubles(q, xs);
    largest(q, question_given(q, "dx", 0, xs), question_doubles(q, ys), argmax);
    oracle_maxpool2d_bwd(want, scale, question_given(q, "dy", 0, ys), argmax, &g);
    question_expect(q, "dx", 0, want, scale, xs, (size_t)g.r * (size_t)g.s);
}

/* ---- the loss ---- */

static int32_t *labels(question *q) {
    int32_t *label = question_input(q, "label");
    for (int i = 0; i < q->number[0]; i++) label[i] = (7 * i + 3) % q->number[1];
    return label;
}

/* Roundings on the way to logit - lse and its exponential, counted once each and tripled, as the
 * labs grant them: largest, log of the sum and lse at their own size, each exponential by its
 * argument's. Logits lie between -1 and 1. */
void define_softmax_xent_fwd(question *q) {
    int rows = q->number[0], classes = q->number[1];
    size_t n = (size_t)rows * (size_t)classes;
    const double *x = question_given(q, "logits", 0, n);
    double *prob = question_doubles(q, n), *prob_bound = question_doubles(q, n);
    double *row = question_doubles(q, (size_t)rows), *row_bound = question_doubles(q, (size_t)rows);
    double *loss = question_doubles(q, 1), *loss_bound = question_doubles(q, 1);
    loss[0] = oracle_softmax_xent(row, prob, x, labels(q), rows, classes);
    double common = 3 * question_unit() * (classes + 8 + 2 * log(classes + 1));
    for (size_t i = 0; i < n; i++) prob_bound[i] = common * prob[i] + FLT_MIN;
    for (int i = 0; i < rows; i++) row_bound[i] = common + 3 * question_unit() * fabs(row[i]);
    loss_bound[0] = common + (rows + 3) * question_unit() * loss[0];
    question_expect_within(q, "prob", 0, prob, prob_bound, n);
    question_expect_within(q, "row_loss", 0, row, row_bound, (size_t)rows);
    question_expect_within(q, "loss", 0, loss, loss_bound, 1);
}

void define_softmax_xent_bwd(question *q) {
    int rows = q->number[0], classes = q->number[1];
    size_t n = (size_t)rows * (size_t)classes;
    double *want = question_doubles(q, n), *scale = question_doubles(q, n);
    tl_real *prob = question_input(q, "prob"); /* the oracle's scale is one of probabilities */
    for (size_t i = 0; i < n; i++)
        if (prob[i] < 0) prob[i] = -prob[i];
    oracle_softmax_xent_bwd(want, scale, question_given(q, "dloss", 0, 1)[0],
                            question_given(q, "prob", 0, n), labels(q), rows, classes);
    question_expect(q, "dlogits", 0, want, scale, n, 6);
}

/* ---- the head of a net: the same, and the metrics of the batch ---- */

/* Sums of metrics begin at zero (question.c): the losses of the rows, hits, rows. */
void define_xent_head_fwd(question *q) {
    int rows = q->number[0], classes = q->number[1];
    size_t n = (size_t)rows * (size_t)classes;
    define_softmax_xent_fwd(q);
    const int32_t *label = labels(q);
    const double *x = question_given(q, "logits", 0, n);
    double *want = question_doubles(q, 3), *bound = question_doubles(q, 3);
    double *row = question_doubles(q, (size_t)rows), *prob = question_doubles(q, n);
    want[0] = rows * oracle_softmax_xent(row, prob, x, label, rows, classes);
    for (int i = 0; i < rows; i++) {
        want[1] += oracle_argmax(x + (size_t)i * (size_t)classes, classes) == label[i];
        bound[0] += 3 * question_unit() *
                    (classes + 8 + 2 * log(classes + 1) + fabs(row[i]) + rows * 0x1p-29);
    }
    want[2] = rows;
    question_expect_within(q, "sums", 0, want, bound, 3);
}

void define_xent_head_bwd(question *q) { define_softmax_xent_bwd(q); }
