/* alignment_test.c: arrays of any operation need the alignment of their element and no more
 * (tl/context.h): results have the bits of arrays that lie on a boundary. */
#include "operation_fixture.h"

#include <math.h>

static void run_shifted(claim *c, tl_ctx *ctx, const operation *op, const example *e,
                        unsigned char *const content[MOST], unsigned shifted,
                        unsigned char *result[MOST]) {
    call_of x = place(c, ctx, op, e, content, shifted);
    ok(c, run(&x, ctx));
    ok(c, ctx->ops->sync(ctx));
    for (int i = 0; i < x.count; i++)
        if (x.a[i].aligned) ok(c, ctx->ops->copy_out(ctx, result[i], x.p[i], x.a[i].bytes));
    give_back(c, &x);
}

/* Bit for bit. On a GPU cuBLAS may choose its kernel by alignment, and with it the order of a sum:
 * there the numbers, which are sums of positive ones, may differ by their rounding. */
static bool same(const call_target *t, const argument *a, const void *want, const void *got) {
    if (!memcmp(want, got, a->bytes)) return true;
    if (a->element != REAL || strcmp(t->device, "cuda") != 0) return false;
    const tl_real *w = want, *g = got;
    for (size_t i = 0; i < a->bytes / sizeof *w; i++)
        if (!(fabs((double)(w[i] - g[i])) <= 512 * TL_REAL_ROUNDOFF * fabs((double)w[i])))
            return false;
    return true;
}

/* All arrays shifted by one element, and each alone: results have the bits of aligned ones. How
 * many arrays there are. */
static int expect_aligned_bits(claim *c, const call_target *t, tl_ctx *ctx, const operation *op,
                               const example *e) {
    unsigned char *content[MOST], *want[MOST], *got[MOST];
    argument a[MOST];
    int count = op->describe(a, e, ctx->ops->column_bytes), arrays = 0;
    draw_all(c, content, op, e, ctx);
    for (int i = 0; i < count; i++) {
        want[i] = claim_memory(c, a[i].bytes + 1, 1);
        got[i] = claim_memory(c, a[i].bytes + 1, 1);
    }
    claim_case(c, t, "%s of aligned arrays", op->name);
    run_shifted(c, ctx, op, e, content, 0, want);
    for (int k = -1; k < count; k++) {
        if (k >= 0 && !a[k].aligned) continue;
        arrays += k >= 0;
        claim_case(c, t, "%s, %s one element behind a boundary of %d bytes", op->name,
                   k < 0 ? "all arrays" : a[k].name, (int)BOUNDARY);
        run_shifted(c, ctx, op, e, content, k < 0 ? ~0u : 1u << k, got);
        for (int i = 0; i < count; i++)
            expect_true(c, !a[i].aligned || same(t, &a[i], want[i], got[i]), "%s has other bits",
                        a[i].name);
    }
    return arrays;
}

/* Arrays of ops.def when this was written, so the least there are: optional ones are there, structs
 * and scratch are none. */
enum { ARRAYS = 130, ARRAYS_CUDA = 5, ARRAYS_FUSED = 41 };

CLAIM(alignment, an_array_needs_the_alignment_of_its_element) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        for (int i = 0; i < EXAMPLES; i++) {
            example e = checked(c, i);
            int tried = 0, arrays = of_target(t, ARRAYS, ARRAYS_CUDA, ARRAYS_FUSED);
            for (const operation *op = operations; op < operations + OPERATIONS; op++)
                if (op->has(ctx->ops)) tried += expect_aligned_bits(c, t, ctx, op, &e);
            expect_true(c, tried >= arrays, "%d arrays, not %d", tried, arrays);
        }
        tl_device_close(ctx);
    }
}
