/* profile.c: counting entries of the dispatch table (profile.h). */
#include "profile.h"

#include <string.h>

#include "progress.h"

static const double real = sizeof(tl_real);

/* ---- around every call ---- */

/* A step is queued faster than a GPU runs it only if the GPU waits: for so long before each. */
enum { HOLD_MICROSECONDS = 5000 };

/* A call that has begun. */
typedef struct begun {
    int caller;
    double begin;      /* by the host's clock */
    profile_call *own; /* by the device's, else NULL */
    tl_status status;  /* of what was done for the clock */
} begun;

static profile_count *count_of(profile *p, int caller, int op) {
    return &p->count[caller < 0 ? PROFILE_OPS : caller][op];
}

/* Adds the times of all calls that the device has done, or has yet to do. */
static tl_status settle(profile *p, tl_ctx *ctx) {
    for (int i = 0; i < p->calls; i++) {
        const profile_call *c = &p->call[i];
        double seconds;
        TL_TRY(p->inner->between(ctx, c->begin, c->end, &seconds));
        count_of(p, c->caller, c->op)->seconds += seconds;
    }
    p->calls = 0;
    return TL_OK;
}

/* Calls inside of calls are open while others begin, so the list is emptied between the outermost
 * ones alone, early enough for whatever one of them calls. */
static tl_status begin_on_device(profile *p, tl_ctx *ctx, begun *b, int op) {
    if (b->caller < 0 && p->calls > PROFILE_CALLS / 2) TL_TRY(settle(p, ctx));
    if (b->caller < 0 && op == PROFILE_batch_load) /* the first of a step */
        TL_TRY(p->inner->hold(ctx, HOLD_MICROSECONDS));
    TL_NEED(p->calls < PROFILE_CALLS, TL_EINVAL, "an operation called more than %d others",
            PROFILE_CALLS / 2);
    b->own = &p->call[p->calls++];
    b->own->caller = b->caller;
    b->own->op = op;
    return p->inner->mark(ctx, &b->own->begin);
}

static begun enter(tl_ctx *ctx, int op) {
    profile *p = (profile *)ctx->ops;
    begun b = {.caller = p->running};
    p->running = op;
    if (p->inner->mark)
        b.status = begin_on_device(p, ctx, &b, op);
    else
        b.status = p->inner->sync(ctx); /* what was queued before is not this operation's */
    b.begin = now_seconds();
    return b;
}

static tl_status leave(tl_ctx *ctx, begun b, tl_status status, double numbers, double flops) {
    profile *p = (profile *)ctx->ops;
    profile_count *c = count_of(p, b.caller, p->running);
    tl_status done = b.status;
    if (b.own && done == TL_OK) done = p->inner->mark(ctx, &b.own->end);
    if (!b.own && done == TL_OK) {
        done = p->inner->sync(ctx);
        c->seconds += now_seconds() - b.begin;
    }
    c->calls++;
    c->bytes += numbers * real;
    c->flops += flops;
    p->running = b.caller;
    return status == TL_OK ? done : status;
}

/* One counting entry: numbers read and written (of sizeof(tl_real)), operations on them. */
#define COUNTED(name, parameters, arguments, numbers, flops)                                       \
    static tl_status counted_##name parameters {                                                   \
        begun call = enter(ctx, PROFILE_##name);                                                   \
        tl_status status = ((const profile *)ctx->ops)->inner->name arguments;                     \
        return leave(ctx, call, status, numbers, flops);                                           \
    }

/* ---- what an operation moves and computes at least ----
 *
 * In numbers of tl_real: inputs and outputs once, and twice what is added to, for that is read and
 * written. Biases, labels and other small arrays are left away. */

static const double index_numbers = sizeof(int32_t) / (double)sizeof(tl_real);
static const double byte_numbers = 1 / (double)sizeof(tl_real);

/* x, y and w of a convolution, and 2 operations per product. */
static double conv_x(const tl_conv2d_geom *g) { return (double)tl_conv2d_x_size(g); }
static double conv_w(const tl_conv2d_geom *g) { return (double)tl_conv2d_w_size(g); }
static double conv_numbers(const tl_conv2d_geom *g) {
    return conv_x(g) + (double)tl_conv2d_y_size(g) + conv_w(g);
}
static double conv_flops(const tl_conv2d_geom *g) {
    return 2.0 * (double)tl_conv2d_y_size(g) * (double)tl_conv2d_col_rows(g);
}
static double pixels(int images, const tl_conv2d_geom *g) {
    return (double)images * g->c * g->h * g->w;
}
static double col_numbers(int images, const tl_conv2d_geom *g) {
    return images * (double)tl_conv2d_col_rows(g) * (double)tl_conv2d_col_cols(g);
}
static double linear_x(const tl_linear_geom *g) { return (double)g->n * g->in; }
static double linear_y(const tl_linear_geom *g) { return (double)g->n * g->out; }
static double linear_w(const tl_linear_geom *g) { return (double)g->in * g->out; }
static double linear_numbers(const tl_linear_geom *g) {
    return linear_x(g) + linear_y(g) + linear_w(g);
}
static double linear_flops(const tl_linear_geom *g) { return 2.0 * g->n * g->in * g->out; }
static double product_numbers(const tl_matmul_geom *g) {
    return (double)g->m * g->k + (double)g->k * g->n + (1.0 + g->accumulate) * g->m * g->n;
}
static double product_flops(const tl_matmul_geom *g) { return 2.0 * g->m * g->n * g->k; }
static double pool_numbers(const tl_pool2d_geom *g) {
    return (double)tl_pool2d_x_size(g) + (1 + index_numbers) * (double)tl_pool2d_y_size(g);
}
static double norm_size(const tl_batchnorm_geom *g) { return (double)g->n * g->c * (double)g->hw; }
static double block_y(const tl_conv2d_block *g) {
    return (double)tl_conv2d_y_size(&g->conv) / (g->pool ? 4 : 1);
}
/* x, w and y, and if there is one a byte for each y. */
static double block_numbers(const tl_conv2d_block *g, const uint8_t *code) {
    return conv_x(&g->conv) + conv_w(&g->conv) + block_y(g) * (1 + (code ? byte_numbers : 0));
}
/* What a backward pass moves beside that: dw, where w stands there, once more; if dx is wanted, w
 * and dx, which is added to or just written. */
static double block_gradients(const tl_conv2d_block *g, const tl_real *dx, bool fresh) {
    double to_x = dx ? conv_w(&g->conv) + (fresh ? 1 : 2) * conv_x(&g->conv) : 0;
    return conv_w(&g->conv) + to_x;
}
static double linear_gradients(const tl_linear_geom *g, const tl_real *dx, bool fresh) {
    double to_x = dx ? linear_w(g) + (fresh ? 1 : 2) * linear_x(g) : 0;
    return linear_w(g) + to_x;
}

/* ---- the entries: numbers moved, then operations ---- */

/* tl/elementwise.h and the device's own zero */
COUNTED(zero, (tl_ctx * ctx, void *y, size_t bytes), (ctx, y, bytes), (double)bytes / real, 0)
COUNTED(fill, (tl_ctx * ctx, tl_real *y, size_t n, tl_real a), (ctx, y, n, a), (double)n, 0)
COUNTED(vector_add, (tl_ctx * ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n),
        (ctx, y, a, b, n), 3.0 * (double)n, (double)n)
COUNTED(add, (tl_ctx * ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n),
        (ctx, y, a, b, n), 3.0 * (double)n, (double)n)
COUNTED(mul, (tl_ctx * ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n),
        (ctx, y, a, b, n), 3.0 * (double)n, (double)n)
COUNTED(scale, (tl_ctx * ctx, tl_real *y, const tl_real *x, size_t n, tl_real a), (ctx, y, x, n, a),
        2.0 * (double)n, (double)n)
COUNTED(axpy, (tl_ctx * ctx, tl_real *y, const tl_real *x, size_t n, tl_real a), (ctx, y, x, n, a),
        3.0 * (double)n, 2.0 * (double)n)
COUNTED(mul_add, (tl_ctx * ctx, tl_real *y, const tl_real *a, const tl_real *b, size_t n),
        (ctx, y, a, b, n), 4.0 * (double)n, 2.0 * (double)n)

/* tl/reduce.h */
COUNTED(sum, (tl_ctx * ctx, tl_real *y, const tl_real *x, size_t n), (ctx, y, x, n), (double)n,
        (double)n)
COUNTED(sum_rows, (tl_ctx * ctx, tl_real *y, const tl_real *x, int r, int c), (ctx, y, x, r, c),
        (double)r *c, (double)r *c)
COUNTED(sum_cols, (tl_ctx * ctx, tl_real *y, const tl_real *x, int r, int c), (ctx, y, x, r, c),
        (double)r *c, (double)r *c)
COUNTED(max_cols, (tl_ctx * ctx, tl_real *y, const tl_real *x, int r, int c), (ctx, y, x, r, c),
        (double)r *c, 0)
COUNTED(argmax_cols, (tl_ctx * ctx, int32_t *y, const tl_real *x, int r, int c), (ctx, y, x, r, c),
        (double)r *c, 0)

/* tl/matmul.h */
COUNTED(matmul,
        (tl_ctx * ctx, tl_real *c, const tl_real *a, const tl_real *b, const tl_matmul_geom *g),
        (ctx, c, a, b, g), product_numbers(g), product_flops(g))
COUNTED(gemm,
        (tl_ctx * ctx, tl_real *c, const tl_real *a, const tl_real *b, const tl_matmul_geom *g),
        (ctx, c, a, b, g), product_numbers(g), product_flops(g))
COUNTED(transpose, (tl_ctx * ctx, tl_real *y, const tl_real *x, int r, int c), (ctx, y, x, r, c),
        2.0 * r * c, 0)

/* tl/conv2d.h */
COUNTED(im2col, (tl_ctx * ctx, tl_real *col, const tl_real *x, int n, const tl_conv2d_geom *g),
        (ctx, col, x, n, g), pixels(n, g) + col_numbers(n, g), 0)
COUNTED(col2im, (tl_ctx * ctx, tl_real *dx, const tl_real *col, int n, const tl_conv2d_geom *g),
        (ctx, dx, col, n, g), 2 * pixels(n, g) + col_numbers(n, g), 0)
COUNTED(conv2d_fwd,
        (tl_ctx * ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
         const tl_conv2d_geom *g, void *work),
        (ctx, y, x, w, b, g, work), conv_numbers(g), conv_flops(g))
COUNTED(conv2d_bwd_input,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dy, const tl_real *w, const tl_conv2d_geom *g,
         void *work),
        (ctx, dx, dy, w, g, work), conv_numbers(g) + conv_x(g), conv_flops(g))
COUNTED(conv2d_bwd_weight,
        (tl_ctx * ctx, tl_real *dw, const tl_real *dy, const tl_real *x, const tl_conv2d_geom *g,
         void *work),
        (ctx, dw, dy, x, g, work), conv_numbers(g) + conv_w(g), conv_flops(g))
COUNTED(conv2d_bwd_bias, (tl_ctx * ctx, tl_real *db, const tl_real *dy, const tl_conv2d_geom *g),
        (ctx, db, dy, g), (double)tl_conv2d_y_size(g), (double)tl_conv2d_y_size(g))

/* tl/layers.h */
COUNTED(maxpool2d_fwd,
        (tl_ctx * ctx, tl_real *y, int32_t *won, const tl_real *x, const tl_pool2d_geom *g),
        (ctx, y, won, x, g), pool_numbers(g), 0)
COUNTED(maxpool2d_bwd,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dy, const int32_t *won, const tl_pool2d_geom *g),
        (ctx, dx, dy, won, g), pool_numbers(g) + (double)tl_pool2d_x_size(g), 0)
COUNTED(linear_fwd,
        (tl_ctx * ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
         const tl_linear_geom *g),
        (ctx, y, x, w, b, g), linear_numbers(g), linear_flops(g))
COUNTED(linear_bwd_input,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dy, const tl_real *w, const tl_linear_geom *g),
        (ctx, dx, dy, w, g), linear_numbers(g) + linear_x(g), linear_flops(g))
COUNTED(linear_bwd_weight,
        (tl_ctx * ctx, tl_real *dw, const tl_real *dy, const tl_real *x, const tl_linear_geom *g),
        (ctx, dw, dy, x, g), linear_numbers(g) + linear_w(g), linear_flops(g))
COUNTED(linear_bwd_bias, (tl_ctx * ctx, tl_real *db, const tl_real *dy, const tl_linear_geom *g),
        (ctx, db, dy, g), linear_y(g), linear_y(g))
COUNTED(relu_fwd, (tl_ctx * ctx, tl_real *y, const tl_real *x, size_t n), (ctx, y, x, n),
        2.0 * (double)n, 0)
COUNTED(relu_bwd, (tl_ctx * ctx, tl_real *dx, const tl_real *dy, const tl_real *y, size_t n),
        (ctx, dx, dy, y, n), 4.0 * (double)n, 0)
COUNTED(softmax_xent_fwd,
        (tl_ctx * ctx, tl_real *loss, tl_real *row_loss, tl_real *prob, const tl_real *x,
         const int32_t *label, int r, int c),
        (ctx, loss, row_loss, prob, x, label, r, c), 2.0 * r * c, 3.0 * r * c)
COUNTED(softmax_xent_bwd,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dloss, const tl_real *prob, const int32_t *label,
         int r, int c),
        (ctx, dx, dloss, prob, label, r, c), 3.0 * r * c, 2.0 * r * c)
COUNTED(batchnorm_fwd,
        (tl_ctx * ctx, tl_real *y, tl_real *mean, tl_real *inv_std, tl_real *running_mean,
         tl_real *running_var, const tl_real *x, const tl_real *gamma, const tl_real *beta,
         const tl_batchnorm_geom *g),
        (ctx, y, mean, inv_std, running_mean, running_var, x, gamma, beta, g), 2.0 * norm_size(g),
        5.0 * norm_size(g))
COUNTED(batchnorm_eval,
        (tl_ctx * ctx, tl_real *y, const tl_real *x, const tl_real *gamma, const tl_real *beta,
         const tl_real *running_mean, const tl_real *running_var, const tl_batchnorm_geom *g),
        (ctx, y, x, gamma, beta, running_mean, running_var, g), 2.0 * norm_size(g),
        2.0 * norm_size(g))
COUNTED(batchnorm_bwd,
        (tl_ctx * ctx, tl_real *dx, tl_real *dgamma, tl_real *dbeta, const tl_real *dy,
         const tl_real *x, const tl_real *gamma, const tl_real *mean, const tl_real *inv_std,
         const tl_batchnorm_geom *g),
        (ctx, dx, dgamma, dbeta, dy, x, gamma, mean, inv_std, g), 4.0 * norm_size(g),
        8.0 * norm_size(g))
COUNTED(dropout_fwd,
        (tl_ctx * ctx, tl_real *y, const tl_real *x, const tl_step *step, const tl_dropout_geom *g),
        (ctx, y, x, step, g), 2.0 * (double)g->n, (double)g->n)
COUNTED(dropout_bwd,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
         const tl_dropout_geom *g),
        (ctx, dx, dy, step, g), 3.0 * (double)g->n, (double)g->n)

/* tl/optim.h, tl/data.h, tl/metrics.h */
COUNTED(sgd_step,
        (tl_ctx * ctx, tl_real *w, tl_real *v, const tl_real *dw, size_t n, const tl_step *step,
         const tl_sgd_options *o),
        (ctx, w, v, dw, n, step, o), (v ? 5.0 : 3.0) * (double)n, 4.0 * (double)n)
COUNTED(adam_step,
        (tl_ctx * ctx, tl_real *w, tl_real *m1, tl_real *m2, const tl_real *dw, size_t n,
         const tl_step *step, const tl_adam_options *o),
        (ctx, w, m1, m2, dw, n, step, o), 7.0 * (double)n, 12.0 * (double)n)
COUNTED(batch_load,
        (tl_ctx * ctx, tl_real *x, int32_t *label, const tl_device_split *d, const tl_step *step,
         const tl_batch_geom *g),
        (ctx, x, label, d, step, g), (1 + byte_numbers) * g->n * d->c * d->h * d->w, 0)
COUNTED(metrics_add,
        (tl_ctx * ctx, tl_metric_sums *sums, const tl_real *row_loss, const tl_real *x,
         const int32_t *label, int r, int c),
        (ctx, sums, row_loss, x, label, r, c), (double)r *c, 0)

/* tl/fused.h */
COUNTED(conv2d_block_fwd,
        (tl_ctx * ctx, tl_real *y, uint8_t *code, const tl_real *x, const tl_real *w,
         const tl_real *b, const tl_conv2d_block *g),
        (ctx, y, code, x, w, b, g), block_numbers(g, code), conv_flops(&g->conv))
COUNTED(conv2d_block_bwd,
        (tl_ctx * ctx, tl_real *dx, tl_real *dw, tl_real *db, const tl_real *dy,
         const uint8_t *code, const tl_real *x, const tl_real *w, const tl_conv2d_block *g,
         bool fresh, void *work),
        (ctx, dx, dw, db, dy, code, x, w, g, fresh, work),
        block_numbers(g, code) + block_gradients(g, dx, fresh), (dx ? 2 : 1) * conv_flops(&g->conv))
COUNTED(linear_block_fwd,
        (tl_ctx * ctx, tl_real *y, const tl_real *x, const tl_real *w, const tl_real *b,
         const tl_linear_geom *g, bool relu, void *work),
        (ctx, y, x, w, b, g, relu, work), linear_numbers(g), linear_flops(g))
COUNTED(linear_block_bwd,
        (tl_ctx * ctx, tl_real *dx, tl_real *dw, tl_real *db, const tl_real *dy, const tl_real *y,
         const tl_real *x, const tl_real *w, const tl_linear_geom *g, bool fresh),
        (ctx, dx, dw, db, dy, y, x, w, g, fresh),
        linear_numbers(g) + (y ? linear_y(g) : 0) + linear_gradients(g, dx, fresh),
        (dx ? 2 : 1) * linear_flops(g))
COUNTED(xent_head_fwd,
        (tl_ctx * ctx, tl_real *loss, tl_real *row_loss, tl_real *prob, tl_metric_sums *sums,
         const tl_real *x, const int32_t *label, int r, int c),
        (ctx, loss, row_loss, prob, sums, x, label, r, c), 2.0 * r * c, 3.0 * r * c)
COUNTED(xent_head_bwd,
        (tl_ctx * ctx, tl_real *dx, const tl_real *dloss, const tl_real *prob, const int32_t *label,
         int r, int c),
        (ctx, dx, dloss, prob, label, r, c), 2.0 * r * c, 2.0 * r * c)

/* ---- on, off, out ---- */

void profile_on(profile *p, tl_ctx *ctx) {
    p->inner = ctx->ops;
    p->table = *ctx->ops;
    p->running = -1;
    p->table.zero = counted_zero;
    /* a fused operation that the device lacks must go on being NULL */
#define TAKE(name, arguments)                                                                      \
    if (p->inner->name) p->table.name = counted_##name;
    TL_BACKEND_OPS(TAKE)
    TL_BACKEND_FUSED(TAKE)
#undef TAKE
    ctx->ops = &p->table;
}

tl_status profile_off(profile *p, tl_ctx *ctx) {
    ctx->ops = p->inner;
    tl_status status = settle(p, ctx);
    for (int i = 0; i < PROFILE_CALLS && p->inner->mark; i++) {
        p->inner->mark_free(ctx, p->call[i].begin);
        p->inner->mark_free(ctx, p->call[i].end);
    }
    memset(p->call, 0, sizeof p->call);
    return status;
}

#define NAME(name, arguments) #name,
static const char *const op_name[] = {TL_BACKEND_OPS(NAME) TL_BACKEND_FUSED(NAME) "zero", ""};

tl_status profile_write(const profile *p, const char *path, const origin *o, uint64_t steps,
                        int batch) {
    jsonl j;
    tl_status status = jsonl_open(&j, path, false);
    for (int caller = 0; caller <= PROFILE_OPS && status == TL_OK; caller++) {
        for (int op = 0; op < PROFILE_OPS && status == TL_OK; op++) {
            const profile_count *c = &p->count[caller][op];
            if (c->calls == 0) continue;
            origin_begin(&j, "profile", o);
            jsonl_text(&j, "op", op_name[op]);
            jsonl_text(&j, "within", op_name[caller]);
            jsonl_whole(&j, "calls", c->calls);
            jsonl_number(&j, "seconds", c->seconds);
            jsonl_number(&j, "bytes", c->bytes);
            jsonl_number(&j, "flops", c->flops);
            jsonl_whole(&j, "steps", steps);
            jsonl_whole(&j, "batch", (uint64_t)batch);
            status = jsonl_end(&j);
        }
    }
    jsonl_close(&j);
    return status;
}
