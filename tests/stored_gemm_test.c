/* stored_gemm_test.c: products of operands that are stored in TF32 or bfloat16 (stored_gemm of
 * tl/backend.h), by the rungs of gemm that one GPU alone has; other devices refuse them by name. */
#include "autograder/oracle/oracle.h"
#include "rounded.h"
#include "tl/alloc.h"
#include "tl/device.h"

#include <string.h>

#ifndef TL_REAL_DOUBLE

/* Whole numbers that are exact in either type. m, n, k: less than a tile, one, several and a bit
 * more; a number of tiles that clusters do not divide; long sums. Lines of whole 16 bytes. */
enum { MOST = 4 };
static const int sizes[][3] = {{8, 16, 8},      {128, 256, 64}, {136, 264, 72},
                               {384, 520, 328}, {72, 24, 4104}, {264, 8, 1032}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *rung_of(tl_precision precision) {
    return precision == TL_TF32 ? "gemm:9" : "gemm:10";
}

static tl_status open_rung(tl_ctx **ctx, const call_target *t, tl_precision precision) {
    const tl_device_options options = {.rungs = rung_of(precision), .threads = 1};
    return tl_device_open_in(ctx, t->device, &options, precision);
}

/* On the device, in 16 bits for bfloat16. */
static void *stored(claim *c, tl_ctx *ctx, const double *from, size_t n, tl_precision precision) {
    size_t each = precision == TL_BF16 ? 2 : sizeof(float);
    unsigned char *host = claim_memory(c, n, each);
    void *block;
    for (size_t i = 0; i < n; i++) {
        float number = (float)from[i];
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        if (precision == TL_BF16)
            ((uint16_t *)(void *)host)[i] = (uint16_t)(bits >> 16);
        else
            ((float *)(void *)host)[i] = number;
    }
    expect_true(c, tl_alloc_get(ctx->alloc, &block, n * each) == TL_OK, "%s", tl_error());
    expect_true(c, ctx->ops->copy_in(ctx, block, host, n * each) == TL_OK, "%s", tl_error());
    return block;
}

static double *draw_whole(claim *c, size_t n) {
    double *x = doubles(c, n);
    for (size_t i = 0; i < n; i++) x[i] = draw_int(c, -MOST, MOST);
    return x;
}

static void expect_product(claim *c, const call_target *t, tl_ctx *ctx, tl_matmul_geom g,
                           tl_precision precision) {
    size_t as = (size_t)g.m * (size_t)g.k, bs = (size_t)g.k * (size_t)g.n;
    size_t cs = (size_t)g.m * (size_t)g.n;
    double *A = draw_whole(c, as), *B = draw_whole(c, bs), *before = draw_whole(c, cs);
    double *want = doubles(c, cs);
    tl_real *C = claim_memory(c, cs, sizeof *C);
    void *a = stored(c, ctx, A, as, precision), *b = stored(c, ctx, B, bs, precision);
    void *to = stored(c, ctx, before, cs, TL_TF32);
    claim_case(c, t, "gemm of stored operands in %s C[%d,%d] %s A%s B%s, k = %d",
               tl_precision_name(precision), g.m, g.n, g.accumulate ? "+=" : "=",
               g.trans_a ? "(transposed)" : "", g.trans_b ? "(transposed)" : "", g.k);
    tl_status status = ctx->ops->stored_gemm(ctx, to, a, b, &g, precision);
    if (precision == TL_TF32 && g.trans_a && !g.trans_b) {
        expect_true(c, status == TL_ENOTIMPL, "both operands lie across k: it took them");
    } else {
        oracle_matmul(want, NULL, A, B, &g);
        for (size_t i = 0; g.accumulate && i < cs; i++) want[i] += before[i];
        expect_true(c, status == TL_OK, "%s", tl_error());
        expect_true(c, ctx->ops->copy_out(ctx, C, to, cs * sizeof *C) == TL_OK, "%s", tl_error());
        expect_equal(c, "C", C, want, SHAPE(g.m, g.n));
    }
    tl_alloc_put(ctx->alloc, a), tl_alloc_put(ctx->alloc, b), tl_alloc_put(ctx->alloc, to);
}

CLAIM(stored_gemm, whole_numbers_are_exact_and_other_devices_refuse) {
    FOR_TARGETS (t)
        for (tl_precision p = TL_TF32; p <= TL_BF16; p++) {
            tl_ctx *ctx;
            if (open_rung(&ctx, t, p) != TL_OK) {
                bool names = strstr(tl_error(), rung_of(p)) != NULL;
                claim_case(c, t, "RUNGS=%s", rung_of(p));
                expect_true(c, names, "it is refused without its name: %s", tl_error());
                expect_true(c, strcmp(t->device, "cuda") != 0 || strstr(tl_error(), "9.0"),
                            "a GPU is not told what it lacks: %s", tl_error());
                continue;
            }
            for (int s = 0; s < SIZES; s++)
                for (int order = 0; order < 4; order++)
                    expect_product(c, t, ctx,
                                   (tl_matmul_geom){.m = sizes[s][0],
                                                    .n = sizes[s][1],
                                                    .k = sizes[s][2],
                                                    .trans_a = order % 2,
                                                    .trans_b = order / 2,
                                                    .accumulate = s % 2},
                                   p);
            tl_device_close(ctx);
        }
}

CLAIM(stored_gemm, lines_of_no_whole_pieces_are_not_taken) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        claim_case(c, t, "RUNGS=gemm:10, lines of 6 bytes");
        if (open_rung(&ctx, t, TL_BF16) != TL_OK) {
            expect_true(c, strstr(tl_error(), "gemm:10") != NULL, "%s", tl_error());
            continue;
        }
        double *x = draw_whole(c, 9);
        void *a = stored(c, ctx, x, 9, TL_BF16), *to = stored(c, ctx, x, 9, TL_TF32);
        tl_status status = ctx->ops->stored_gemm(
            ctx, to, a, a, &(tl_matmul_geom){.m = 3, .n = 3, .k = 3}, TL_BF16);
        expect_true(c, status == TL_ENOTIMPL, "it took lines that the accelerator cannot read");
        tl_alloc_put(ctx->alloc, a), tl_alloc_put(ctx->alloc, to);
        tl_device_close(ctx);
    }
}
#endif
