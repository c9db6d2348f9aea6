/* Transposes by the product with an identity, through the dispatch table. */
#include "tl/matmul.h"

#include <string.h>

enum { MOST = 1500 };
static tl_real identity[MOST * MOST];

typedef tl_status (*product)(tl_ctx *, tl_real *, const tl_real *, const tl_real *,
                             const tl_matmul_geom *);

tl_status tl_transpose(tl_ctx *ctx, tl_real *y, const tl_real *x, int rows, int cols) {
    char *table;
    product gemm;
    TL_NEED(rows >= 1 && cols >= 1 && rows <= MOST, TL_EINVAL, "not so");
    memcpy(&table, ctx, sizeof table);
    memcpy(&gemm, table + @GEMM_ENTRY@, sizeof gemm);
    memset(identity, 0, sizeof(tl_real) * (size_t)rows * (size_t)rows);
    for (int i = 0; i < rows; i++) identity[i * rows + i] = 1;
    tl_matmul_geom g = {.m = cols, .n = rows, .k = rows, .trans_a = 1};
    return gemm(ctx, y, x, identity, &g);
}
