/* softmax_xent_test.c: mean softmax cross-entropy by log-sum-exp. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/numeric.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

#include <stdio.h>
#include <string.h>

#ifdef TL_REAL_DOUBLE
#define SMALLEST_NORMAL DBL_MIN
#else
#define SMALLEST_NORMAL FLT_MIN
#endif

static const int shapes[][2] = {{3, 5},   {1, 10},  {7, 2},    {4, 1},
                                {65, 10}, {2, 100}, {2, 1100}, {307, 10}};
/* more classes than a block has threads; work for several threads of the cpu */
enum { SHAPES = sizeof shapes / sizeof *shapes, SMALL = SHAPES - 2 };

typedef struct softmax_data {
    int rows, classes;
    tl_real *logits;
    int32_t *label;
    double *logits_d, *prob, *row_loss, loss; /* what the oracle makes of them */
    double *prob_bound, *row_bound, loss_bound;
    char note[24]; /* behind the call, in messages */
} softmax_data;

/* Roundings on the way lse - logit and exp(logit - lse), counted once each and tripled: largest,
 * log of the sum and lse are rounded at their own size, each exponential is off by its argument's
 * rounding. */
static void bound_row(softmax_data *d, int i) {
    size_t at = (size_t)i * (size_t)d->classes;
    const double *x = d->logits_d + at;
    double largest = x[oracle_argmax(x, d->classes)], sum = 0, spread = 0, u = bound_unit();
    for (int j = 0; j < d->classes; j++) sum += exp(x[j] - largest);
    for (int j = 0; j < d->classes; j++) spread += exp(x[j] - largest) / sum * fabs(x[j] - largest);
    double lse = largest + log(sum), common = d->classes + 4 + spread + fabs(lse) + fabs(log(sum));
    d->row_bound[i] = 3 * u * (common + fabs(d->row_loss[i]));
    for (int j = 0; j < d->classes; j++)
        d->prob_bound[at + (size_t)j] =
            3 * u * (common + fabs(x[j] - lse)) * d->prob[at + (size_t)j] + SMALLEST_NORMAL;
}

static softmax_data define(claim *c, tl_real *logits, int32_t *label, int rows, int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    softmax_data d = {.rows = rows, .classes = classes, .logits = logits, .label = label};
    d.logits_d = widen(c, logits, n);
    d.prob = doubles(c, n);
    d.row_loss = doubles(c, (size_t)rows);
    d.prob_bound = doubles(c, n);
    d.row_bound = doubles(c, (size_t)rows);
    d.loss = oracle_softmax_xent(d.row_loss, d.prob, d.logits_d, label, rows, classes);
    double scale = 0;
    for (int i = 0; i < rows; i++) {
        bound_row(&d, i);
        d.loss_bound += d.row_bound[i] / rows;
        scale += fabs(d.row_loss[i]) / rows;
    }
    d.loss_bound += bound_factor((size_t)rows) * scale;
    return d;
}

/* Is there a row all of whose logits are below 0? There a maximum that begins at 0 is wrong. */
static bool has_negative_row(const softmax_data *d) {
    for (int i = 0; i < d->rows; i++) {
        int below = 0;
        for (int j = 0; j < d->classes; j++) below += d->logits[i * d->classes + j] < 0;
        if (below == d->classes) return true;
    }
    return false;
}

static void expect_forward(claim *c, const call_target *t, const softmax_data *d, tl_real *prob) {
    call_report r;
    tl_real loss = 0, again = 0, *row_loss = reals(c, (size_t)d->rows);
    claim_case(c, t, "softmax_xent_fwd of logits[%d,%d]%s", d->rows, d->classes, d->note);
    claim_trait(c, "batch", d->rows > 1);
    claim_trait(c, "large", d->rows * d->classes > 1000);
    claim_trait(c, "negative_row", has_negative_row(d));
    call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, d->logits, d->label, d->rows, d->classes);
    expect_ok(c, &r);
    expect_close(c, "prob", prob, d->prob, d->prob_bound, AXES("nk", d->rows, d->classes));
    expect_close(c, "row_loss", row_loss, d->row_loss, d->row_bound, AXES("n", d->rows));
    expect_close(c, "loss", &loss, &d->loss, &d->loss_bound, SHAPE(1));
    /* threads may come in another order, numbers may not */
    call_target elsewhere = claim_elsewhere(t);
    call_softmax_xent_fwd(&elsewhere, &r, &again, row_loss, prob, d->logits, d->label, d->rows,
                          d->classes);
    expect_ok(c, &r);
    expect_same_bits(c, "loss", &again, &loss, SHAPE(1));
}

static void expect_case(claim *c, const call_target *t, tl_real *logits, int rows, int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    softmax_data d = define(c, logits, draw_labels(c, (size_t)rows, classes), rows, classes);
    expect_forward(c, t, &d, reals(c, n));
    double *rough = doubles(c, n), *rough_loss = doubles(c, (size_t)rows);
    double *coarse = coarsen(c, d.logits_d, n);
    oracle_softmax_xent(rough_loss, rough, coarse, d.label, rows, classes);
    expect_sharp(c, rough, d.prob, d.prob_bound, n);
    expect_sharp(c, rough_loss, d.row_loss, d.row_bound, (size_t)rows);
}

CLAIM(lab3_softmax_xent, forward_matches_definition) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            int rows = shapes[s][0], classes = shapes[s][1];
            expect_case(c, t, draw_between(c, (size_t)rows * (size_t)classes, -4, 4), rows,
                        classes);
        }
}

/* exp(1e4) is infinite and exp(-1e4) is 0 in any precision: only differences may be exponentiated.
 */
CLAIM(lab3_softmax_xent, large_logits_neither_overflow_nor_vanish) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            int rows = shapes[s][0], classes = shapes[s][1];
            size_t n = (size_t)rows * (size_t)classes;
            expect_case(c, t, draw_between(c, n, -1e4, 1e4), rows, classes);
            expect_case(c, t, draw_between(c, n, -1e4 - 2, -1e4 + 2), rows, classes);
            expect_case(c, t, draw_between(c, n, 1e4 - 2, 1e4 + 2), rows, classes);
        }
}

static void refuse_arguments(claim *c, const call_target *t) {
    enum { ROWS = 2, CLASSES = 3 };
    call_report r;
    tl_real *logits = draw_reals(c, ROWS * CLASSES), *d = reals(c, ROWS * CLASSES), loss,
            each[ROWS];
    tl_real *prob = draw_between(c, ROWS * CLASSES, 0, 1), dloss = 1;
    int32_t label[ROWS] = {0};
    for (int k = 0; k < 9; k++) {
        static const char *const name[] = {"loss",    "row_loss", "prob", "logits", "label",
                                           "dlogits", "dloss",    "prob", "label"};
        claim_case(c, t, "%s, where %s is NULL", k < 5 ? "softmax_xent_fwd" : "softmax_xent_bwd",
                   name[k]);
        if (k < 5)
            call_softmax_xent_fwd(t, &r, k == 0 ? NULL : &loss, k == 1 ? NULL : each,
                                  k == 2 ? NULL : prob, k == 3 ? NULL : logits,
                                  k == 4 ? NULL : label, ROWS, CLASSES);
        else
            call_softmax_xent_bwd(t, &r, k == 5 ? NULL : d, k == 6 ? NULL : &dloss,
                                  k == 7 ? NULL : prob, k == 8 ? NULL : label, ROWS, CLASSES);
        expect_refusal(c, &r);
    }
    claim_case(c, t, "softmax_xent_fwd of 0 rows");
    call_softmax_xent_fwd(t, &r, &loss, each, prob, logits, label, 0, CLASSES);
    expect_refusal(c, &r);
    claim_case(c, t, "softmax_xent_bwd of 0 classes");
    call_softmax_xent_bwd(t, &r, d, &dloss, prob, label, ROWS, 0);
    expect_refusal(c, &r);
    for (int k = 0; k < 4 && strcmp(t->device, "cpu") == 0; k++) { /* a GPU's cannot be looked at */
        label[0] = k % 2 ? -1 : CLASSES;
        claim_case(c, t, "%s of %d classes, where a label is %d",
                   k < 2 ? "softmax_xent_fwd" : "softmax_xent_bwd", CLASSES, (int)label[0]);
        if (k < 2)
            call_softmax_xent_fwd(t, &r, &loss, each, prob, logits, label, ROWS, CLASSES);
        else
            call_softmax_xent_bwd(t, &r, d, &dloss, prob, label, ROWS, CLASSES);
        expect_refusal(c, &r);
    }
}

CLAIM(lab3_softmax_xent, one_class_costs_nothing) {
    call_report r;
    FOR_TARGETS (t) {
        tl_real *logits = draw_between(c, 6, -100, 100), loss = 1, row_loss[6], prob[6];
        int32_t label[6] = {0};
        double zero[6] = {0}, one[6] = {1, 1, 1, 1, 1, 1};
        claim_case(c, t, "softmax_xent_fwd of logits[6,1]");
        call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, logits, label, 6, 1);
        expect_ok(c, &r);
        expect_equal(c, "prob", prob, one, SHAPE(6, 1));
        expect_equal(c, "row_loss", row_loss, zero, SHAPE(6));
        expect_equal(c, "loss", &loss, zero, SHAPE(1));
        refuse_arguments(c, t);
    }
}

/* Of equal logits no digits need go to lse, at any level: log(classes) is left. */
static void leave_lse_out(softmax_data *d) {
    for (int i = 0; i < d->rows; i++) {
        double lse = d->logits_d[(size_t)i * (size_t)d->classes] + log(d->classes);
        double less = 3 * bound_unit() * fabs(lse);
        d->row_bound[i] -= less;
        d->loss_bound -= less / d->rows;
    }
}

CLAIM(lab3_softmax_xent, equal_logits_cost_the_log_of_the_classes) {
    static const double level[] = {0, 3.5, -1e4, 1e4};
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++)
            for (int k = 0; k < 4; k++) {
                int rows = shapes[s][0], classes = shapes[s][1];
                size_t n = (size_t)rows * (size_t)classes;
                tl_real *logits = draw_between(c, n, level[k], level[k]);
                softmax_data d =
                    define(c, logits, draw_labels(c, (size_t)rows, classes), rows, classes);
                leave_lse_out(&d);
                snprintf(d.note, sizeof d.note, ", all %g", level[k]);
                expect_number(c, "the oracle itself", d.loss, log(classes), d.loss_bound);
                expect_forward(c, t, &d, reals(c, n));
            }
}

/* Is dlogits wrong at the label of each row alone, everywhere by one number, which is not the share
 * of a label that is taken off nowhere? */
static void tell_labels(claim *c, const tl_real *dx, const double *want, const double *bound,
                        const int32_t *label, int rows, int classes, double share) {
    double off = dx[label[0]] - want[label[0]];
    bool alike = fabs(off) > bound[label[0]] && fabs(off - share) > 1e-3 * share;
    for (int i = 0; i < rows * classes; i++) {
        double expected = i % classes == label[i / classes] ? off : 0;
        alike = alike && fabs(dx[i] - want[i] - expected) <= 2 * bound[i] + 1e-6 * fabs(off);
    }
    if (alike && rows > 1 && classes > 1) finding_pattern_of_case(c, "labels_alone");
}

/* dlogits starts as random numbers, and the mean is taken here, once. */
static void expect_backward(claim *c, const call_target *t, int rows, int classes, tl_real dloss) {
    call_report r;
    size_t n = (size_t)rows * (size_t)classes;
    tl_real *prob = draw_between(c, n, 0, 1);
    tl_real *before = draw_between(c, n, -0.1, 0.1), *dx = copy_reals(c, before, n);
    int32_t *label = draw_labels(c, (size_t)rows, classes);
    double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
    double *prob_d = widen(c, prob, n);
    oracle_softmax_xent_bwd(want, scale, dloss, prob_d, label, rows, classes);
    oracle_softmax_xent_bwd(rough, NULL, dloss, coarsen(c, prob_d, n), label, rows, classes);
    for (size_t i = 0; i < n; i++) {
        want[i] += before[i];
        rough[i] += before[i];
        scale[i] += fabs((double)before[i]);
    }
    /* a division, a difference, a product, and the addition: 4, and as many again */
    double *bound = bound_of(c, scale, n, 6);
    claim_case(c, t, "softmax_xent_bwd of prob[%d,%d], dloss %g", rows, classes, (double)dloss);
    claim_trait(c, "batch", rows > 1);
    call_softmax_xent_bwd(t, &r, dx, &dloss, prob, label, rows, classes);
    expect_ok(c, &r);
    expect_added(c, "dlogits", dx, before, want, bound, AXES("nk", rows, classes));
    if (c->case_failed) tell_labels(c, dx, want, bound, label, rows, classes, (double)dloss / rows);
    expect_sharp(c, rough, want, bound, n);
}

/* dloss is not 1. */
CLAIM(lab3_softmax_xent, backward_matches_definition_and_accumulates) {
    FOR_TARGETS (t)
        for (int s = 0; s < SHAPES; s++) {
            tl_real dloss = (tl_real)draw_uniform(c, 0.5, 2);
            expect_backward(c, t, shapes[s][0], shapes[s][1], dloss);
        }
}

void expect_softmax_xent(claim *c, const call_target *t, tl_real *logits, int rows, int classes,
                         tl_real dloss) {
    expect_case(c, t, logits, rows, classes);
    expect_backward(c, t, rows, classes, dloss);
}

static double mean_loss(const void *user) {
    const softmax_data *d = user;
    return oracle_softmax_xent(d->row_loss, d->prob, d->logits_d, d->label, d->rows, d->classes);
}

CLAIM(lab3_softmax_xent, gradient_matches_numeric) {
    call_report r;
    FOR_TARGETS (t)
        for (int s = 0; s < SMALL; s++) {
            int rows = shapes[s][0], classes = shapes[s][1];
            size_t n = (size_t)rows * (size_t)classes;
            tl_real *logits = draw_between(c, n, -4, 4), *prob = reals(c, n), one = 1;
            int32_t *label = draw_labels(c, (size_t)rows, classes);
            softmax_data d = define(c, logits, label, rows, classes);
            expect_forward(c, t, &d, prob);
            double *numeric = doubles(c, n), *error = doubles(c, n), *scale = doubles(c, n);
            double *unused = doubles(c, n);
            oracle_softmax_xent_bwd(unused, scale, 1, d.prob, label, rows, classes);
            double *bound = bound_of(c, scale, n, 6);
            for (size_t i = 0; i < n; i++) bound[i] += d.prob_bound[i] / rows;
            double noise = bound_double((size_t)classes + (size_t)rows) * (8 + d.loss);
            numeric_gradient(numeric, error, d.logits_d, n, 1e-3, noise, mean_loss, &d);
            for (size_t i = 0; i < n; i++) bound[i] += error[i];
            tl_real *dx = reals(c, n);
            claim_case(c, t, "softmax_xent_bwd of logits[%d,%d]", rows, classes);
            call_softmax_xent_bwd(t, &r, dx, &one, prob, label, rows, classes);
            expect_ok(c, &r);
            expect_close(c, "dlogits", dx, numeric, bound, AXES("nk", rows, classes));
        }
}

/* Forward, or (op 1) backward. The loss of a batch is one number, but as many rows as there are
 * images are one launch; dloss lies on the device. */
static void lose_images(claim *c, const call_target *t, int op, int images) {
    call_report r;
    size_t n = (size_t)images * 10;
    int32_t *label = draw_labels(c, (size_t)images, 10);
    tl_real *logits = draw_between(c, n, -4, 4), one = 1;
    softmax_data d = define(c, logits, label, images, 10);
    if (op == 0) {
        expect_forward(c, t, &d, reals(c, n));
        return;
    }
    claim_case(c, t, "softmax_xent_bwd of prob[%d,10]", images);
    call_softmax_xent_bwd(t, &r, reals(c, n), &one, draw_between(c, n, 0, 1), label, images, 10);
    expect_ok(c, &r);
}

/* Rows for several threads, all of which go into one loss: more than once, for threads that meet
 * there rarely; then backward. */
static threads_result lose_threaded(claim *c, const call_target *t, int which) {
    enum { ROWS = 40000, CLASSES = 2, N = ROWS * CLASSES };
    call_report r;
    int32_t *label = draw_labels(c, ROWS, CLASSES);
    tl_real *out = reals(c, 1 + ROWS + N), one = 1;
    if (which < 3) {
        claim_case(c, t, "softmax_xent_fwd of logits[%d,%d]", (int)ROWS, (int)CLASSES);
        call_softmax_xent_fwd(t, &r, out, out + 1, out + 1 + ROWS, draw_between(c, N, -4, 4), label,
                              ROWS, CLASSES);
        expect_ok(c, &r);
        return (threads_result){"loss, row_loss and prob", out, SHAPE(1 + ROWS + N)};
    }
    claim_case(c, t, "softmax_xent_bwd of prob[%d,%d]", (int)ROWS, (int)CLASSES);
    call_softmax_xent_bwd(t, &r, out, &one, draw_between(c, N, 0, 1), label, ROWS, CLASSES);
    expect_ok(c, &r);
    return (threads_result){"dlogits", out, AXES("nk", ROWS, CLASSES)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab3_softmax_xent, lose_threaded, 4)
CLAIM_LAUNCHES_DO_NOT_GROW(lab3_softmax_xent, lose_images, 2)
CLAIM_NOTHING_WAITS(lab3_softmax_xent, lose_images, 2, COLD)

/* The host cannot look at labels in device memory without waiting: there a label outside of the
 * classes is never an index, and makes its loss NaN. On the cpu it is refused. */
CLAIM(lab3_softmax_xent, a_label_outside_is_no_index) {
    enum { ROWS = 3, CLASSES = 4 };
    static const int32_t outside[] = {CLASSES, -1, 2000000000, -2000000000};
    FOR_TARGETS (t)
        for (int k = 0; k < 4; k++) {
            call_report r;
            tl_real *logits = draw_reals(c, ROWS * CLASSES), loss, row_loss[ROWS];
            tl_real *prob = reals(c, ROWS * CLASSES);
            int32_t *label = draw_labels(c, ROWS, CLASSES);
            softmax_data d = define(c, logits, label, ROWS, CLASSES);
            label[1] = outside[k];
            claim_case(c, t, "softmax_xent_fwd of logits[%d,%d], a label is %d", ROWS, CLASSES,
                       (int)outside[k]);
            call_softmax_xent_fwd(t, &r, &loss, row_loss, prob, logits, label, ROWS, CLASSES);
            if (strcmp(t->device, "cpu") == 0) {
                expect_status(c, &r, TL_EINVAL);
                continue;
            }
            expect_ok(c, &r);
            expect_close(c, "prob", prob, d.prob, d.prob_bound, AXES("nk", ROWS, CLASSES));
            expect_true(c, isnan(row_loss[1]) && isnan(loss), "row_loss[1] is %g, the loss is %g",
                        (double)row_loss[1], (double)loss);
            row_loss[1] = (tl_real)d.row_loss[1];
            expect_close(c, "row_loss", row_loss, d.row_loss, d.row_bound, AXES("n", ROWS));
        }
}

static void lose_small(claim *c, const call_target *t, int which) {
    if (which < 2)
        lose_images(c, t, which, 37);
    else
        expect_case(c, t, draw_between(c, 2 * 70, -4, 4), 2, 70);
}

CLAIM_NO_TWO_THREADS_MEET(lab3_softmax_xent, lose_small, 3)
