/* arguments_test.c: NULL for an argument of any operation is refused by name (tl/context.h). How
 * many cases there are at least is written down, for a loop that tries nothing passes, too. */
#include "operation_fixture.h"

/* How a line calls the struct of sizes or options. */
static const char *called(const argument *a) {
    if (!a->options || strcmp(a->name, "split") == 0) return a->name;
    return strcmp(a->name, "o") == 0 ? "options" : "geometry";
}

/* Each pointer of an operation that must be there, and ctx. How many they are. */
static int refuse_nulls(claim *c, const call_target *t, tl_ctx *ctx, const operation *op,
                        const example *e) {
    unsigned char *content[MOST];
    draw_all(c, content, op, e, ctx);
    call_of x = place(c, ctx, op, e, content, 0);
    int tried = 1;
    claim_case(c, t, "%s without a context", op->name);
    expect_refused(c, run(&x, NULL), "ctx");
    for (int i = 0; i < x.count; i++) {
        if (x.a[i].optional) continue;
        void *there = x.p[i];
        claim_case(c, t, "%s, where %s is NULL", op->name, x.a[i].name);
        x.p[i] = NULL;
        expect_refused(c, run(&x, ctx), called(&x.a[i]));
        x.p[i] = there;
        tried++;
    }
    claim_case(c, t, "%s with all arguments", op->name);
    ok(c, run(&x, ctx));
    ok(c, ctx->ops->sync(ctx));
    give_back(c, &x);
    return tried;
}

/* Rows and pointers (ctx is one of each row) of ops.def when this was written, so the least there
 * are: what every device has, what the plain path of CUDA has beside that, the fused entries. */
enum {
    ROWS = 40,
    ROWS_CUDA = 2,
    ROWS_FUSED = 8,
    NULLS = 193,
    NULLS_CUDA = 8,
    NULLS_FUSED = 39,
};

CLAIM(arguments, null_is_refused_by_name) {
    FOR_TARGETS (t) {
        tl_ctx *ctx;
        int rows = 0, tried = 0;
        example e = checked(c, 0);
        ok(c, tl_device_open(&ctx, t->device, t->rungs, t->threads));
        for (const operation *op = operations; op < operations + OPERATIONS; op++) {
            if (!op->has(ctx->ops)) continue;
            rows++;
            tried += refuse_nulls(c, t, ctx, op, &e);
        }
        int want = of_target(t, ROWS, ROWS_CUDA, ROWS_FUSED);
        int nulls = of_target(t, NULLS, NULLS_CUDA, NULLS_FUSED);
        expect_true(c, rows >= want, "%d operations, not %d", rows, want);
        expect_true(c, tried >= nulls, "%d pointers, not %d", tried, nulls);
        tl_device_close(ctx);
    }
}
