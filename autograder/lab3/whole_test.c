/* whole_test.c: a small net by hand through all of lab 3, forward and back to its pixels.
 *
 * pool -> ReLU -> linear -> loss. Pixels and weights are whole numbers, so that everything before
 * the softmax is exact; what the softmax's rounding may do to a pixel is carried back. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/numeric.h"

enum { N = 4, C = 2, H = 6, W = 4, P = 3, Q = 2, IN = C * P * Q, OUT = 5 };
enum { XS = N * C * H * W, YS = N * IN, WS = OUT * IN, LS = N * OUT };
static const tl_linear_geom linear = {N, IN, OUT};

typedef struct net {
    tl_pool2d_geom pool;
    tl_real *x, *w, *b;
    double *x_d, *w_d, *b_d;
    int32_t *label;
    /* what the oracle makes of them */
    double y[YS], hidden[YS], logits[LS], prob[LS], row_loss[N];
    int32_t argmax[YS];
} net;

static tl_real *draw_whole(claim *c, size_t n, int range) {
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -range, range);
    return x;
}

/* No pixel is 0, and no two are equal: the kinks of pooling and ReLU are out of reach. */
static void draw_net(claim *c, net *d) {
    d->pool = (tl_pool2d_geom){N, C, H, W, 2, 2, 2, 2, 0, 0, 0, 0};
    if (tl_pool2d_check(&d->pool) != TL_OK) claim_fail(c, "geometry: %s", tl_error());
    d->x_d = widen(c, d->x = draw_distinct(c, XS, 0.25), XS);
    d->w_d = widen(c, d->w = draw_whole(c, WS, 1), WS);
    d->b_d = widen(c, d->b = draw_whole(c, OUT, 2), OUT);
    d->label = draw_labels(c, N, OUT);
}

static double net_loss(const void *user) {
    net *d = (net *)user; /* the results are its scratch */
    oracle_maxpool2d_fwd(d->y, d->argmax, d->x_d, &d->pool);
    for (int i = 0; i < YS; i++) d->hidden[i] = d->y[i] > 0 ? d->y[i] : 0;
    oracle_linear_fwd(d->logits, NULL, d->hidden, d->w_d, d->b_d, &linear);
    return oracle_softmax_xent(d->row_loss, d->prob, d->logits, d->label, N, OUT);
}

/* What the judged code made of each layer. */
typedef struct results {
    tl_real y[YS], hidden[YS], logits[LS], prob[LS], row_loss[N], loss;
    tl_real dlogits[LS], dhidden[YS], dy[YS], dx[XS], dw[WS], db[OUT];
    int32_t argmax[YS];
} results;

static void run_forward(claim *c, const call_target *t, const net *d, results *o) {
    call_report r;
    call_maxpool2d_fwd(t, &r, o->y, o->argmax, d->x, &d->pool);
    expect_ok(c, &r);
    expect_equal(c, "pooled", o->y, d->y, AXES("ncpq", N, C, P, Q));
    call_relu_fwd(t, &r, o->hidden, o->y, YS);
    expect_ok(c, &r);
    expect_equal(c, "behind ReLU", o->hidden, d->hidden, AXES("ncpq", N, C, P, Q));
    call_linear_fwd(t, &r, o->logits, o->hidden, d->w, d->b, &linear);
    expect_ok(c, &r);
    expect_equal(c, "logits", o->logits, d->logits, AXES("nk", N, OUT));
    call_softmax_xent_fwd(t, &r, &o->loss, o->row_loss, o->prob, o->logits, d->label, N, OUT);
    expect_ok(c, &r);
}

static void run_backward(claim *c, const call_target *t, const net *d, results *o) {
    call_report r;
    const tl_real one = 1;
    call_softmax_xent_bwd(t, &r, o->dlogits, &one, o->prob, d->label, N, OUT);
    expect_ok(c, &r);
    call_linear_bwd_weight(t, &r, o->dw, o->dlogits, o->hidden, &linear);
    expect_ok(c, &r);
    call_linear_bwd_bias(t, &r, o->db, o->dlogits, &linear);
    expect_ok(c, &r);
    call_linear_bwd_input(t, &r, o->dhidden, o->dlogits, d->w, &linear);
    expect_ok(c, &r);
    call_relu_bwd(t, &r, o->dy, o->dhidden, o->hidden, YS);
    expect_ok(c, &r);
    call_maxpool2d_bwd(t, &r, o->dx, o->dy, o->argmax, &d->pool);
    expect_ok(c, &r);
}

/* An error of a logit's gradient: its own few roundings, and prob's, which grow with the range of
 * the logits. A gradient behind the linear layer sums `terms` of them, each times `size`. */
static double *gradient_bound(claim *c, const net *d, const double *error, size_t n, int terms,
                              double size) {
    double range = 0;
    for (int i = 0; i < LS; i++) range = fmax(range, fabs(d->logits[i]));
    double one = 6 * bound_unit() * (2 * range + OUT + 4) / N;
    double *bound = doubles(c, n);
    for (size_t i = 0; i < n; i++)
        bound[i] = error[i] + terms * size * (one + bound_factor((size_t)terms) / N);
    return bound;
}

static void expect_numeric(claim *c, net *d, const results *o) {
    double largest = 0, loss = net_loss(d);
    for (int i = 0; i < YS; i++) largest = fmax(largest, d->hidden[i]);
    const struct {
        const char *name;
        const tl_real *got;
        double *varied, size;
        size_t n;
        int terms;
        expect_shape shape;
    } of[] = {{"dx", o->dx, d->x_d, 1, XS, OUT, AXES("nchw", N, C, H, W)},
              {"dw", o->dw, d->w_d, largest, WS, N, AXES("ki", OUT, IN)},
              {"db", o->db, d->b_d, 1, OUT, N, AXES("k", OUT)}};
    for (int k = 0; k < 3; k++) {
        double *want = doubles(c, of[k].n), *error = doubles(c, of[k].n);
        numeric_gradient(want, error, of[k].varied, of[k].n, 1e-3,
                         bound_double(64) * (loss + largest * IN), net_loss, d);
        expect_close(c, of[k].name, of[k].got, want,
                     gradient_bound(c, d, error, of[k].n, of[k].terms, of[k].size), of[k].shape);
    }
}

CLAIM(lab3_whole, all_tasks_work_together) {
    FOR_TARGETS (t)
        for (int round = 0; round < 3; round++) {
            net *d = claim_memory(c, 1, sizeof *d);
            results *o = claim_memory(c, 1, sizeof *o);
            draw_net(c, d);
            (void)net_loss(d);
            claim_case(c, t, "pool, ReLU, linear and loss of x[%d,%d,%d,%d], and back", N, C, H, W);
            run_forward(c, t, d, o);
            run_backward(c, t, d, o);
            expect_numeric(c, d, o);
        }
}
