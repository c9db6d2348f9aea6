/* precision_apply.c: values rounded on their way (tl/precision.h), between kernels for float.
 *
 * Each function stands in the table in place of the one of its name: it rounds copies of what that
 * one reads, calls it (ctx->ops->exact), and rounds what came out. Copies and parts of sums lie in
 * scratch for the length of a call. */
#include "precision_apply.h"

static const char *const names[TL_PRECISIONS] = TL_PRECISION_NAMES;

const char *tl_precision_name(tl_precision precision) {
    return (unsigned)precision < TL_PRECISIONS ? names[precision] : NULL;
}

tl_status tl_precision_find(tl_precision *precision, const char *name) {
    TL_NEED(precision && name, TL_EINVAL, "tl_precision_find: a pointer is NULL");
    for (int p = 0; p < TL_PRECISIONS; p++) {
        if (strcmp(name, names[p]) != 0) continue;
        *precision = (tl_precision)p;
        return TL_OK;
    }
    return TL_FAIL(TL_EINVAL, "PRECISION=%s: use fp32, tf32, bf16, fp16 or tf32x3", name);
}

static inline void round_each(tl_real *y, const tl_real *x, size_t n, tl_precision precision) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = (tl_real)tl_rounded((float)x[i], precision);
}

/* (a loop for each precision: compilers make no vectors of one that asks in each step which) */
static tl_status round_on_cpu(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n,
                              tl_precision precision) {
    enum { PART = 1 << 13 };
#pragma omp parallel for num_threads(ctx->threads) if (n >= (1 << 15))
    for (size_t i = 0; i < n; i += PART) {
        size_t count = n - i < PART ? n - i : PART;
        if (precision == TL_TF32) round_each(y + i, x + i, count, TL_TF32);
        if (precision == TL_BF16) round_each(y + i, x + i, count, TL_BF16);
        if (precision == TL_FP16) round_each(y + i, x + i, count, TL_FP16);
    }
    return TL_OK;
}

/* ---- one call ---------------------------------------------------------------------------------*/

enum { MOST = 4 };

/* A call, its scratch, and how it goes so far: after a failure nothing more is done. */
typedef struct call {
    tl_ctx *ctx;
    const tl_backend *exact;
    tl_precision precision;
    void *block[MOST];
    int blocks;
    tl_status status;
} call;

static call begin(tl_ctx *ctx) {
    return (call){.ctx = ctx, .exact = ctx->ops->exact, .precision = ctx->ops->precision};
}

static void then(call *c, tl_status status) {
    if (c->status == TL_OK) c->status = status;
}

static bool good(const call *c) { return c->status == TL_OK; }

static tl_real *scratch(call *c, size_t n) {
    if (!good(c)) return NULL;
    then(c, tl_alloc_get(c->ctx->alloc, &c->block[c->blocks], n * sizeof(tl_real)));
    return good(c) ? c->block[c->blocks++] : NULL;
}

/* A rounded copy. NULL stays NULL: the kernel refuses it, or may do without. */
static const tl_real *rounded(call *c, const tl_real *x, size_t n) {
    if (!x) return NULL;
    tl_real *copy = scratch(c, n);
    if (good(c)) then(c, c->ctx->ops->round_to(c->ctx, copy, x, n, c->precision));
    return copy;
}

static void round_result(call *c, tl_real *y, size_t n) {
    if (good(c) && tl_in_16_bits(c->precision))
        then(c, c->ctx->ops->round_to(c->ctx, y, y, n, c->precision));
}

/* Where a kernel adds what is to be added to y: y itself, or zeros, where the part is rounded. */
static tl_real *part_of(call *c, tl_real *y, size_t n) {
    if (!y || !tl_in_16_bits(c->precision)) return y;
    tl_real *part = scratch(c, n);
    if (good(c)) then(c, c->ctx->ops->zero(c->ctx, part, n * sizeof *part));
    return part;
}

static void add_part(call *c, tl_real *y, tl_real *part, size_t n) {
    if (part == y) return;
    round_result(c, part, n);
    if (good(c)) then(c, c->exact->axpy(c->ctx, y, part, n, 1));
}

static tl_status end(call *c) {
    while (c->blocks > 0) tl_alloc_put(c->ctx->alloc, c->block[--c->blocks]);
    return c->status;
}

/* ---- conv2d -----------------------------------------------------------------------------------*/

static tl_status conv2d_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                            const tl_real *b, const tl_conv2d_geom *g, void *work) {
    TL_TRY(tl_conv2d_checked(g));
    call c = begin(ctx);
    const tl_real *rx = rounded(&c, x, tl_conv2d_x_size(g));
    const tl_real *rw = rounded(&c, w, tl_conv2d_w_size(g));
    const tl_real *rb = tl_in_16_bits(c.precision) ? rounded(&c, b, (size_t)g->k) : b;
    if (good(&c)) then(&c, c.exact->conv2d_fwd(ctx, y, rx, rw, rb, g, work));
    round_result(&c, y, tl_conv2d_y_size(g));
    return end(&c);
}

static tl_status conv2d_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                  const tl_conv2d_geom *g, void *work) {
    TL_TRY(tl_conv2d_checked(g));
    call c = begin(ctx);
    size_t n = tl_conv2d_x_size(g);
    const tl_real *rdy = rounded(&c, dy, tl_conv2d_y_size(g));
    const tl_real *rw = rounded(&c, w, tl_conv2d_w_size(g));
    tl_real *part = part_of(&c, dx, n);
    if (good(&c)) then(&c, c.exact->conv2d_bwd_input(ctx, part, rdy, rw, g, work));
    add_part(&c, dx, part, n);
    round_result(&c, dx, n);
    return end(&c);
}

static tl_status conv2d_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                   const tl_conv2d_geom *g, void *work) {
    TL_TRY(tl_conv2d_checked(g));
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, tl_conv2d_y_size(g));
    const tl_real *rx = rounded(&c, x, tl_conv2d_x_size(g));
    tl_real *part = part_of(&c, dw, tl_conv2d_w_size(g));
    if (good(&c)) then(&c, c.exact->conv2d_bwd_weight(ctx, part, rdy, rx, g, work));
    add_part(&c, dw, part, tl_conv2d_w_size(g));
    return end(&c);
}

/* (in TL_TF32 the table keeps the kernel for float) */
static tl_status conv2d_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,
                                 const tl_conv2d_geom *g) {
    TL_TRY(tl_conv2d_checked(g));
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, tl_conv2d_y_size(g));
    tl_real *part = part_of(&c, db, (size_t)g->k);
    if (good(&c)) then(&c, c.exact->conv2d_bwd_bias(ctx, part, rdy, g));
    add_part(&c, db, part, (size_t)g->k);
    return end(&c);
}

/* ---- linear -----------------------------------------------------------------------------------*/

static size_t x_size(const tl_linear_geom *g) { return (size_t)g->n * (size_t)g->in; }
static size_t y_size(const tl_linear_geom *g) { return (size_t)g->n * (size_t)g->out; }
static size_t w_size(const tl_linear_geom *g) { return (size_t)g->out * (size_t)g->in; }

static tl_status linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                            const tl_real *b, const tl_linear_geom *g) {
    TL_TRY(tl_linear_check(g));
    call c = begin(ctx);
    const tl_real *rx = rounded(&c, x, x_size(g));
    const tl_real *rw = rounded(&c, w, w_size(g));
    const tl_real *rb = tl_in_16_bits(c.precision) ? rounded(&c, b, (size_t)g->out) : b;
    if (good(&c)) then(&c, c.exact->linear_fwd(ctx, y, rx, rw, rb, g));
    round_result(&c, y, y_size(g));
    return end(&c);
}

static tl_status linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_real *w,
                                  const tl_linear_geom *g) {
    TL_TRY(tl_linear_check(g));
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, y_size(g));
    const tl_real *rw = rounded(&c, w, w_size(g));
    tl_real *part = part_of(&c, dx, x_size(g));
    if (good(&c)) then(&c, c.exact->linear_bwd_input(ctx, part, rdy, rw, g));
    add_part(&c, dx, part, x_size(g));
    round_result(&c, dx, x_size(g));
    return end(&c);
}

static tl_status linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                                   const tl_linear_geom *g) {
    TL_TRY(tl_linear_check(g));
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, y_size(g));
    const tl_real *rx = rounded(&c, x, x_size(g));
    tl_real *part = part_of(&c, dw, w_size(g));
    if (good(&c)) then(&c, c.exact->linear_bwd_weight(ctx, part, rdy, rx, g));
    add_part(&c, dw, part, w_size(g));
    return end(&c);
}

static tl_status linear_bwd_bias(tl_ctx *ctx, tl_real *db, const tl_real *dy,
                                 const tl_linear_geom *g) {
    TL_TRY(tl_linear_check(g));
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, y_size(g));
    tl_real *part = part_of(&c, db, (size_t)g->out);
    if (good(&c)) then(&c, c.exact->linear_bwd_bias(ctx, part, rdy, g));
    add_part(&c, db, part, (size_t)g->out);
    return end(&c);
}

/* ---- gemm -------------------------------------------------------------------------------------*/

static tl_status gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                      const tl_matmul_geom *g) {
    TL_TRY(tl_matmul_check(g));
    call c = begin(ctx);
    const tl_real *ra = rounded(&c, A, (size_t)g->m * (size_t)g->k);
    const tl_real *rb = rounded(&c, B, (size_t)g->k * (size_t)g->n);
    if (good(&c)) then(&c, c.exact->gemm(ctx, C, ra, rb, g));
    return end(&c);
}

/* ---- what follows a product, in 16 bits -------------------------------------------------------*/

static tl_status batchnorm_fwd(tl_ctx *ctx, tl_real *y, tl_real *mean, tl_real *inv_std,
                               tl_real *running_mean, tl_real *running_var, const tl_real *x,
                               const tl_real *gamma, const tl_real *beta,
                               const tl_batchnorm_geom *g) {
    TL_TRY(tl_batchnorm_check(g));
    call c = begin(ctx);
    const tl_real *rx = rounded(&c, x, tl_batchnorm_size(g));
    if (good(&c))
        then(&c, c.exact->batchnorm_fwd(ctx, y, mean, inv_std, running_mean, running_var, rx, gamma,
                                        beta, g));
    round_result(&c, y, tl_batchnorm_size(g));
    return end(&c);
}

static tl_status batchnorm_eval(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *gamma,
                                const tl_real *beta, const tl_real *running_mean,
                                const tl_real *running_var, const tl_batchnorm_geom *g) {
    TL_TRY(tl_batchnorm_check(g));
    call c = begin(ctx);
    const tl_real *rx = rounded(&c, x, tl_batchnorm_size(g));
    if (good(&c))
        then(&c, c.exact->batchnorm_eval(ctx, y, rx, gamma, beta, running_mean, running_var, g));
    round_result(&c, y, tl_batchnorm_size(g));
    return end(&c);
}

static tl_status batchnorm_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                               const tl_real *dy, const tl_real *x, const tl_real *gamma,
                               const tl_real *mean, const tl_real *inv_std,
                               const tl_batchnorm_geom *g) {
    TL_TRY(tl_batchnorm_check(g));
    call c = begin(ctx);
    size_t n = tl_batchnorm_size(g);
    const tl_real *rdy = rounded(&c, dy, n), *rx = rounded(&c, x, n);
    tl_real *part = part_of(&c, dx, n);
    if (good(&c))
        then(&c,
             c.exact->batchnorm_bwd(ctx, part, dgamma, dbeta, rdy, rx, gamma, mean, inv_std, g));
    add_part(&c, dx, part, n);
    round_result(&c, dx, n);
    return end(&c);
}

static tl_status dropout_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_step *step,
                             const tl_dropout_geom *g) {
    TL_NEED(g, TL_EINVAL, "tl_dropout_fwd: the geometry is NULL");
    call c = begin(ctx);
    const tl_real *rx = rounded(&c, x, g->n);
    if (good(&c)) then(&c, c.exact->dropout_fwd(ctx, y, rx, step, g));
    round_result(&c, y, g->n);
    return end(&c);
}

static tl_status dropout_bwd(tl_ctx *ctx, tl_real *dx, const tl_real *dy, const tl_step *step,
                             const tl_dropout_geom *g) {
    TL_NEED(g, TL_EINVAL, "tl_dropout_bwd: the geometry is NULL");
    call c = begin(ctx);
    const tl_real *rdy = rounded(&c, dy, g->n);
    tl_real *part = part_of(&c, dx, g->n);
    if (good(&c)) then(&c, c.exact->dropout_bwd(ctx, part, rdy, step, g));
    add_part(&c, dx, part, g->n);
    round_result(&c, dx, g->n);
    return end(&c);
}

/* ---- the table --------------------------------------------------------------------------------*/

/* The first tensor cores that take the type: halves came before the others. */
static int since(tl_precision precision) { return precision == TL_FP16 ? 70 : 80; }

static tl_status check(const tl_backend *ops, tl_precision precision) {
    TL_NEED((unsigned)precision < TL_PRECISIONS, TL_EINVAL, "precision %d: there is none",
            (int)precision);
    if (precision == TL_FP32) return TL_OK;
    TL_NEED(sizeof(tl_real) == sizeof(float), TL_EINVAL,
            "PRECISION=%s: this program computes in double; use the float build (REAL=float)",
            names[precision]);
    int oldest = since(precision), has = ops->capability; /* 0: no GPU, which has them all */
    TL_NEED(has == 0 || has >= oldest, TL_EINVAL,
            "PRECISION=%s: it needs a GPU of compute capability %d.%d or newer, and this one has "
            "%d.%d; use PRECISION=fp32%s",
            names[precision], oldest / 10, oldest % 10, has / 10, has % 10,
            has >= since(TL_FP16) ? " or fp16" : "");
    return TL_OK;
}

/* Kernels that join a product to what comes before or after it keep float's bits inside. */
static void drop_fused_products(tl_backend *ops) {
    ops->conv2d_block_fwd = NULL;
    ops->conv2d_block_bwd = NULL;
    ops->conv2d_relu_fwd = NULL;
    ops->conv2d_relu_bwd_input = NULL;
    ops->linear_block_fwd = NULL;
    ops->linear_block_bwd = NULL;
    ops->net_plan = NULL;
    ops->net_fwd = NULL;
    ops->net_bwd = NULL;
}

static void round_products(tl_backend *ops, tl_precision precision) {
    ops->conv2d_fwd = conv2d_fwd;
    ops->conv2d_bwd_input = conv2d_bwd_input;
    ops->conv2d_bwd_weight = conv2d_bwd_weight;
    ops->gemm = gemm;
    ops->linear_fwd = linear_fwd;
    ops->linear_bwd_input = linear_bwd_input;
    ops->linear_bwd_weight = linear_bwd_weight;
    if (!tl_in_16_bits(precision)) return;
    ops->conv2d_bwd_bias = conv2d_bwd_bias;
    ops->linear_bwd_bias = linear_bwd_bias;
    ops->batchnorm_fwd = batchnorm_fwd;
    ops->batchnorm_eval = batchnorm_eval;
    ops->batchnorm_bwd = batchnorm_bwd;
    ops->dropout_fwd = dropout_fwd;
    ops->dropout_bwd = dropout_bwd;
}

tl_status precision_apply(tl_backend *ops, tl_backend *exact, tl_backend *rounding,
                          tl_precision precision) {
    TL_TRY(check(ops, precision));
    if (precision == TL_FP32) return TL_OK;
    if (!ops->round_to) ops->round_to = round_on_cpu;
    *exact = *ops;
    ops->exact = exact;
    ops->precision = precision;
    drop_fused_products(ops);
    if (precision != TL_TF32X3) round_products(ops, precision);
    *rounding = *ops;
    ops->rounding = rounding;
    return TL_OK;
}

tl_status precision_taken(const tl_backend *ops) {
    TL_NEED(ops->precision != TL_TF32X3 || ops->gemm != ops->exact->gemm, TL_EINVAL,
            "PRECISION=tf32x3: none of the rungs that were asked for computes in it; use "
            "RUNGS=gemm:11, on a GPU or hostcuda");
    return TL_OK;
}
