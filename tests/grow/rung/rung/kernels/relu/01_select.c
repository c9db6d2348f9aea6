/* 01_select.c: ReLU without a branch. (tl/layers.h) */
#include "kernels/rungs.h"

/* NaN stays NaN: it is not below zero. */
static tl_status relu_select(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n) {
    TL_NEED(ctx && y && x, TL_EINVAL, "relu rung 1: ctx, y or x is NULL");
    TL_NEED(n >= 1, TL_EINVAL, "relu rung 1: n is 0, at least 1 is needed");
    for (size_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
    return TL_OK;
}

void tl_rung_relu_select(tl_backend *ops) { ops->relu_fwd = relu_select; }
