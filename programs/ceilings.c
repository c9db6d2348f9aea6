/* ceilings.c: the largest product and copy of a device (ceilings.h). */
#include "ceilings.h"

#include <string.h>

#include "progress.h"
#include "tl/backend.h"

enum { SIDE_CPU = 1536, SIDE_GPU = 8192, SIDE_HOSTCUDA = 64, RUNS = 8 };

static int side_of(const char *device) {
    if (strcmp(device, "cuda") == 0) return SIDE_GPU;
    return strcmp(device, "cpu") == 0 ? SIDE_CPU : SIDE_HOSTCUDA;
}

/* (floats that are read as two numbers of 16 bits are as good as others) */
static tl_status multiply(tl_ctx *ctx, void *const a[3], const tl_matmul_geom *g) {
    const tl_backend *ops = ctx->ops;
    if (ops->precision == TL_FP32) return ops->gemm(ctx, a[0], a[1], a[2], g);
    TL_NEED(ops->stored_gemm, TL_ENOTIMPL, "%s was opened without a library for products in %s",
            ops->name, tl_precision_name(ops->precision));
    return ops->stored_gemm(ctx, a[0], a[1], a[2], g, ops->precision);
}

tl_status ceilings_measure(ceilings *best, tl_ctx *ctx) {
    const tl_backend *ops = ctx->ops;
    int side = side_of(ops->name);
    tl_matmul_geom g = {.m = side, .n = side, .k = side};
    size_t bytes = (size_t)side * (size_t)side * sizeof(tl_real);
    void *a[3] = {NULL, NULL, NULL};
    double flops = 2.0 * side * (double)side * side;
    tl_status status = TL_OK;
    *best = (ceilings){0, 0};
    for (int i = 0; i < 3 && status == TL_OK; i++) {
        status = tl_alloc_get(ctx->alloc, &a[i], bytes);
        if (status == TL_OK) status = ops->fill(ctx, a[i], bytes / sizeof(tl_real), TL_R(0.5));
    }
    for (int i = 0; i < 2 * RUNS && status == TL_OK; i++) {
        status = ops->sync(ctx);
        double begin = now_seconds();
        if (status == TL_OK)
            status = i % 2 ? multiply(ctx, a, &g) : ops->copy(ctx, a[0], a[1], bytes);
        if (status == TL_OK) status = ops->sync(ctx);
        double *of = i % 2 ? &best->flops : &best->bytes;
        double rate = (i % 2 ? flops : 2.0 * (double)bytes) / (now_seconds() - begin);
        if (rate > *of) *of = rate;
    }
    for (int i = 0; i < 3; i++) tl_alloc_put(ctx->alloc, a[i]);
    return status;
}
