/* matmul.c: our own matrix product for the CPU, in tiles that stay in cache (tl/matmul.h). */
#include "tl/matmul.h"

#include <stdbool.h>

enum {
    TILE = 64,               /* rows and columns of a tile of C */
    PARALLEL_FROM = 1 << 18, /* multiplications below which waking the threads does not pay */
};

/* A matrix as it lies in memory, read as if it were not transposed. */
typedef struct operand {
    const tl_real *data;
    size_t row_step, col_step; /* distance between neighbours down a column and along a row */
} operand;

static operand make_operand(const tl_real *data, int rows, int cols, bool transposed) {
    if (transposed) return (operand){data, 1, (size_t)rows};
    return (operand){data, (size_t)cols, 1};
}

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_matmul: ctx, C, A, B or the geometry is NULL");

    operand a = make_operand(A, g->m, g->k, g->trans_a);
    operand b = make_operand(B, g->k, g->n, g->trans_b);
    /* TODO(lab 1): C = op(A)·op(B), or C += op(A)·op(B) where g->accumulate says so, for op(A) of m
     * x k and op(B) of k x n elements. Element (i, j) of op(A) is a.data[i*a.row_step +
     * j*a.col_step], whether A is stored transposed or not; three loops over that are right, and
     * enough for the points. Then make them quick: compute C in TILE x TILE tiles, and sum each
     * over slices of K. Copy ("pack") the pieces of op(A) and op(B) that a slice needs into small
     * arrays first: the copies undo the transposition, fit the first-level cache, and let the inner
     * loop walk along memory (Goto, van de Geijn, "Anatomy of High-Performance Matrix
     * Multiplication", 2008). Let threads share the tiles. Think of: tiles that stick out at the
     * right and at the bottom, and a last slice that is shorter; a zero that fills up a slice may
     * meet an infinity; what C holds before the first slice counts only if g->accumulate. */
    (void)a, (void)b;
    return TL_NOT_IMPLEMENTED();
}
