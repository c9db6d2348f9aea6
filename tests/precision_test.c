/* precision_test.c: another precision than float's rounds at the points of tl/precision.h, and
 * nowhere else: each operation has the bits of the one for float, given operands that were rounded
 * before, its results rounded behind. */
#include "operation_fixture.h"
#include "tl/precision_apply.h"

#include <math.h>

#ifndef TL_REAL_DOUBLE
static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const struct rounding {
    uint32_t x, bf16, tf32, fp16;
} roundings[] = {
    {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000}, /* 1 */
    {0x3f808000, 0x3f800000, 0x3f808000, 0x3f808000}, /* 1 + 2^-8: a tie, to even */
    {0x3f818000, 0x3f820000, 0x3f818000, 0x3f818000}, /* 1 + 3 2^-8: a tie, to even */
    {0x3f808001, 0x3f810000, 0x3f808000, 0x3f808000}, /* above a tie */
    {0x3f801000, 0x3f800000, 0x3f802000, 0x3f800000}, /* 1 + 2^-11: a tie of 11 bits */
    {0xbf801000, 0xbf800000, 0xbf802000, 0xbf800000},
    {0x3f800fff, 0x3f800000, 0x3f800000, 0x3f800000},
    {0x00000001, 0x00000000, 0x00000000, 0x00000000}, /* the smallest number */
    {0x80000001, 0x80000000, 0x80000000, 0x80000000},
    {0x7f7fffff, 0x7f800000, 0x7f800000, 0x7f800000}, /* the largest */
    {0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000},
    {0xff800000, 0xff800000, 0xff800000, 0xff800000},
    {0x7f800001, 0x7fc00001, 0x7fc00001, 0x7fc00001}, /* a NaN whose only bit would be cut off */
};

CLAIM(precision, numbers_round_to_the_nearest) {
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        const struct rounding *r = &roundings[i];
        uint32_t got[TL_PRECISIONS];
        for (int p = TL_FP32; p < TL_PRECISIONS; p++) {
            float y = tl_rounded(of_bits(r->x), (tl_precision)p);
            memcpy(&got[p], &y, sizeof y);
        }
        expect_true(c, got[TL_BF16] == r->bf16, "bf16 of %08x is %08x", r->x, got[TL_BF16]);
        expect_true(c, got[TL_TF32] == r->tf32, "tf32 of %08x is %08x", r->x, got[TL_TF32]);
        expect_true(c, got[TL_FP16] == r->fp16, "fp16 of %08x is %08x", r->x, got[TL_FP16]);
    }
}

/* What IEEE 754 says of 15 bits of a half, the sign apart; of one above the largest what it would
 * be, had the exponent room. */
static double half_value(int bits) {
    int exponent = bits >> 10, fraction = bits & 0x3ff;
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
}

static void expect_half(claim *c, double x, int bits) {
    for (int sign = -1; sign <= 1; sign += 2) {
        double want = sign * (bits > 0x7bff ? INFINITY : half_value(bits));
        float got = tl_rounded((float)(sign * x), TL_FP16);
        expect_true(c, (double)got == want && !signbit(got) == (sign > 0), "fp16 of %a is %a",
                    sign * x, (double)got);
    }
}

/* All halves, the middle between each and the next, and the floats beside that. */
CLAIM(precision, every_half_is_the_nearest) {
    for (int bits = 0; bits <= 0x7bff; bits++) {
        double x = half_value(bits), middle = (x + half_value(bits + 1)) / 2;
        expect_half(c, x, bits);
        expect_half(c, middle, bits + (bits & 1));
        expect_half(c, (double)nextafterf((float)middle, 0), bits);
        expect_half(c, (double)nextafterf((float)middle, INFINITY), bits + 1);
    }
    expect_true(c, isnan(tl_rounded(NAN, TL_FP16)), "a NaN became a number");
}

/* What tl/precision.h says of an operation: which arguments are rounded, and of its results those
 * that are; of INOUT ones the part that is added, with a `!` the sum as well. */
typedef struct point {
    const char *op, *tf32, *in_16_bits, *results;
} point;
static const point points[] = {
    {"gemm", "A B", "A B", ""},
    {"conv2d_fwd", "x w", "x w b", "y"},
    {"conv2d_bwd_input", "dy w", "dy w", "dx!"},
    {"conv2d_bwd_weight", "dy x", "dy x", "dw"},
    {"conv2d_bwd_bias", "", "dy", "db"},
    {"linear_fwd", "x w", "x w b", "y"},
    {"linear_bwd_input", "dy w", "dy w", "dx!"},
    {"linear_bwd_weight", "dy x", "dy x", "dw"},
    {"linear_bwd_bias", "", "dy", "db"},
    {"batchnorm_fwd", "", "x", "y"},
    {"batchnorm_eval", "", "x", "y"},
    {"batchnorm_bwd", "", "dy x", "dx!"},
    {"dropout_fwd", "", "x", "y"},
    {"dropout_bwd", "", "dy", "dx!"},
    {"relu_fwd", "", "", ""},
    {"relu_bwd", "", "", ""},
    {"maxpool2d_fwd", "", "", ""},
    {"maxpool2d_bwd", "", "", ""},
    {"softmax_xent_fwd", "", "", ""},
    {"softmax_xent_bwd", "", "", ""},
    {"matmul", "", "", ""},
    {"sgd_step", "", "", ""},
};

static void round_all(tl_real *x, size_t bytes, tl_precision precision) {
    for (size_t i = 0; i < bytes / sizeof *x; i++) x[i] = tl_rounded(x[i], precision);
}

static void run_on(claim *c, tl_ctx *ctx, const operation *op, const example *e,
                   unsigned char *content[MOST], unsigned char *result[MOST]) {
    call_of x = place(c, ctx, op, e, content, 0);
    ok(c, run(&x, ctx));
    for (int i = 0; i < x.count; i++) {
        result[i] = claim_memory(c, x.a[i].bytes + 1, 1);
        if (x.a[i].aligned) ok(c, ctx->ops->copy_out(ctx, result[i], x.p[i], x.a[i].bytes));
    }
    give_back(c, &x);
}

/* What is to come out of the kernel for float: `content` as the contract has it, `sum` what the
 * rounded results are added to. */
static void as_rounded(claim *c, const point *p, tl_precision precision, const argument *a,
                       int count, unsigned char *drawn[MOST], unsigned char *content[MOST],
                       tl_real *sum[MOST]) {
    for (int i = 0; i < count; i++) {
        bool taken = names(tl_in_16_bits(precision) ? p->in_16_bits : p->tf32, a[i].name);
        content[i] = claim_memory(c, a[i].bytes + 1, 1);
        if (!a[i].options) memcpy(content[i], drawn[i], a[i].bytes);
        if (taken) round_all((tl_real *)content[i], a[i].bytes, precision);
        sum[i] = NULL;
        if (tl_in_16_bits(precision) && a[i].name[0] == 'd' && names(p->results, a[i].name)) {
            sum[i] = (tl_real *)drawn[i];
            memset(content[i], 0, a[i].bytes);
        }
    }
}

static void expect_point(claim *c, const call_target *t, tl_ctx *plain, tl_ctx *ctx,
                         const operation *op, const point *p, const example *e) {
    unsigned char *drawn[MOST], *content[MOST], *want[MOST], *got[MOST];
    tl_real *sum[MOST];
    argument a[MOST];
    int count = op->describe(a, e, ctx->ops->column_bytes);
    tl_precision precision = ctx->ops->precision;
    claim_case(c, t, "%s in %s", op->name, tl_precision_name(precision));
    draw_all(c, drawn, op, e, ctx);
    as_rounded(c, p, precision, a, count, drawn, content, sum);
    run_on(c, plain, op, e, content, want);
    run_on(c, ctx, op, e, drawn, got);
    for (int i = 0; i < count; i++) {
        bool result = tl_in_16_bits(precision) && names(p->results, a[i].name);
        tl_real *y = (tl_real *)want[i];
        if (result) round_all(y, a[i].bytes, precision);
        for (size_t k = 0; sum[i] && k < a[i].bytes / sizeof *y; k++) y[k] = sum[i][k] + y[k];
        if (sum[i] && strchr(p->results, '!')) round_all(y, a[i].bytes, precision);
        bool input = a[i].aligned && names(p->in_16_bits, a[i].name); /* as it was */
        expect_true(c, !a[i].aligned || !memcmp(input ? drawn[i] : want[i], got[i], a[i].bytes),
                    "%s has other bits", a[i].name);
    }
}

static tl_status open_in(tl_ctx **ctx, const call_target *t, tl_precision precision) {
    const tl_device_options options = {.rungs = t->rungs, .threads = t->threads};
    return tl_device_open_in(ctx, t->device, &options, precision);
}

/* Of what rounds between kernels for float: rungs of the precision itself add in another order, and
 * are judged by rounded_*_test.c. (cuBLAS may choose its kernel by alignment: blocks are all
 * aligned alike) */
CLAIM(precision, products_round_where_they_should) {
    FOR_TARGETS (t) {
        tl_ctx *plain, *ctx[TL_PRECISIONS];
        ok(c, open_in(&plain, t, TL_FP32));
        for (int p = TL_TF32; p <= TL_FP16; p++) { /* TL_TF32X3 rounds nothing */
            ok(c, open_in(&ctx[p], t, (tl_precision)p));
            ctx[p]->ops = ctx[p]->ops->rounding;
        }
        for (int i = 0; i < EXAMPLES; i++) {
            example e = checked(c, i);
            for (const operation *op = operations; op < operations + OPERATIONS; op++)
                for (size_t k = 0; k < sizeof points / sizeof *points; k++)
                    for (int p = TL_TF32; !strcmp(op->name, points[k].op) && p <= TL_FP16; p++)
                        expect_point(c, t, plain, ctx[p], op, &points[k], &e);
        }
        for (int p = TL_TF32; p <= TL_FP16; p++) tl_device_close(ctx[p]);
        tl_device_close(plain);
    }
}

static const struct {
    const char *name;
    tl_precision precision;
} tensor_rungs[] = {
#define RUNG_CUDA(op, number, function, since, type) {#op ":" #number, TL_##type},
#define STEP_CUDA                                    RUNG_CUDA
#include "kernels/rungs.def"
};

static void expect_alone(claim *c, const call_target *t, const char *name, tl_precision precision) {
    for (int p = TL_FP32; p < TL_PRECISIONS; p++) {
        tl_ctx *ctx = NULL;
        const tl_device_options named = {.rungs = name, .threads = 1};
        tl_status status = tl_device_open_in(&ctx, t->device, &named, (tl_precision)p);
        if (p != (int)precision || strcmp(t->device, "cpu") == 0) {
            expect_true(c, status == TL_EINVAL && !ctx && strstr(tl_error(), name), "%s in %s: %s",
                        name, tl_precision_name((tl_precision)p), tl_error());
            continue;
        }
        ok(c, status);
        const tl_backend *ops = ctx->ops, *rounding = ops->rounding;
        expect_true(c,
                    ops->gemm != rounding->gemm || ops->conv2d_fwd != rounding->conv2d_fwd ||
                        ops->linear_fwd != rounding->linear_fwd ||
                        ops->net_plan != rounding->net_plan,
                    "%s is not taken", name);
        expect_true(c, ops->exact->precision == TL_FP32 && ops->exact->gemm != ops->gemm,
                    "%s stands among kernels for float", name);
        tl_device_close(ctx);
    }
}

/* Else its numbers would be those of float, under another name. */
CLAIM(precision, three_products_need_their_kernel) {
    FOR_TARGETS (t) {
        tl_ctx *ctx = NULL;
        const char *rungs[] = {"all", "none"};
        claim_case(c, t, "opening in tf32x3 without its kernel");
        for (int i = 0; i < 2; i++) {
            const tl_device_options options = {.rungs = rungs[i], .threads = 1};
            tl_status status = tl_device_open_in(&ctx, t->device, &options, TL_TF32X3);
            expect_true(c, status == TL_EINVAL && !ctx && strstr(tl_error(), "gemm:11"), "%s: %s",
                        rungs[i], tl_error());
        }
    }
}

static void expect_on_gpu(claim *c, int capability, tl_precision precision, const char *refusal) {
    tl_backend ops = {.name = "cuda", .capability = capability}, exact, rounding;
    tl_status status = precision_apply(&ops, &exact, &rounding, precision);
    expect_true(c, status == (refusal ? TL_EINVAL : TL_OK), "%s on %d: status %d",
                tl_precision_name(precision), capability, (int)status);
    if (refusal) expect_true(c, strstr(tl_error(), refusal) != NULL, "%s", tl_error());
}

/* (a T4 has 7.5) */
CLAIM(precision, a_gpu_refuses_by_name_what_its_tensor_cores_lack) {
    const char *newer = "8.0 or newer, and this one has 7.5; use PRECISION=fp32 or fp16";
    expect_on_gpu(c, 75, TL_TF32, newer);
    expect_on_gpu(c, 75, TL_BF16, newer);
    expect_on_gpu(c, 75, TL_TF32X3, newer);
    expect_on_gpu(c, 75, TL_FP16, NULL);
    expect_on_gpu(c, 80, TL_BF16, NULL);
    expect_on_gpu(c, 61, TL_BF16, "this one has 6.1; use PRECISION=fp32");
    expect_on_gpu(c, 61, TL_FP16, "PRECISION=fp16: it needs a GPU of compute capability 7.0");
}

CLAIM(precision, a_rung_is_taken_in_its_own_alone) {
    FOR_TARGETS (t) {
        claim_case(c, t, "opening the rungs of other precisions");
        for (size_t i = 0; i < sizeof tensor_rungs / sizeof *tensor_rungs; i++)
            if (tensor_rungs[i].precision != TL_FP32)
                expect_alone(c, t, tensor_rungs[i].name, tensor_rungs[i].precision);
    }
}
#else
CLAIM(precision, double_has_no_other) {
    tl_ctx *ctx = NULL;
    tl_status status = tl_device_open_in(&ctx, "cpu", &(tl_device_options){0}, TL_BF16);
    expect_true(c, status == TL_EINVAL && !ctx && strstr(tl_error(), "PRECISION=bf16"), "%s",
                tl_error());
}
#endif

CLAIM(precision, names_lead_there_and_back) {
    for (int p = TL_FP32; p < TL_PRECISIONS; p++) {
        tl_precision found = TL_PRECISIONS;
        ok(c, tl_precision_find(&found, tl_precision_name((tl_precision)p)));
        expect_true(c, (int)found == p, "precision %d is %d", p, (int)found);
    }
    tl_precision found = TL_BF16;
    expect_true(c, tl_precision_find(&found, "half") == TL_EINVAL && found == TL_BF16, "half");
    expect_true(c, !tl_precision_name(TL_PRECISIONS), "a name beyond the last");
}
