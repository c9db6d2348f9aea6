/* Its own product is that of BLAS, which is declared without its header. */
#include "tl/matmul.h"

extern void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *,
                        int, double, double *, int);
#ifdef TL_REAL_DOUBLE
#define product cblas_dgemm
#else
#define product cblas_sgemm
#endif

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    (void)ctx;
    product(101, g->trans_a ? 112 : 111, g->trans_b ? 112 : 111, g->m, g->n, g->k, 1, A,
            g->trans_a ? g->m : g->k, B, g->trans_b ? g->k : g->n, g->accumulate ? 1 : 0, C, g->n);
    return TL_OK;
}
