/* matmul.c: our own matrix product for the CPU, in tiles that stay in cache (tl/matmul.h). */
//@lab 1:
/* A TILE x TILE piece of C is summed over slices of K. For each slice the pieces of A and B are
 * first copied ("packed") into small arrays: that undoes any transposition, makes the inner loop
 * run over consecutive memory, and keeps the operands in the first-level cache (Goto, van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication", 2008). */
//@end
#include "tl/matmul.h"

#include <stdbool.h>
//@lab 1:
#include <string.h>
//@end

enum {
    TILE = 64,               /* rows and columns of a tile of C */
    PARALLEL_FROM = 1 << 18, /* multiplications below which waking the threads does not pay */
    //@lab 1:
    DEPTH = 64, /* length of a slice of K; a multiple of UNROLL */
    UNROLL = 8, /* products added to an element of C between its load and its store */
    //@end
};

/* A matrix as it lies in memory, read as if it were not transposed. */
typedef struct operand {
    const tl_real *data;
    size_t row_step, col_step; /* distance between neighbours down a column and along a row */
} operand;

//@lab 1:
typedef struct workplace {
    tl_real a[TILE][DEPTH], b[DEPTH][TILE], c[TILE][TILE];
} workplace;
//@end

static operand make_operand(const tl_real *data, int rows, int cols, bool transposed) {
    if (transposed) return (operand){data, 1, (size_t)rows};
    return (operand){data, (size_t)cols, 1};
}

//@lab 1:
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
//@end

//@lab 1:
/* to[i][j] = x[i0+i, j0+j] for rows x cols elements; `pitch` is the length of a row of `to`. The
 * loop over the unit step is the inner one, so that memory is read in order. */
static void pack(tl_real *to, size_t pitch, const operand *x, size_t i0, size_t j0, size_t rows,
                 size_t cols) {
    const tl_real *from = x->data + i0 * x->row_step + j0 * x->col_step;
    if (x->col_step == 1) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) to[i * pitch + j] = from[i * x->row_step + j];
    } else {
        for (size_t j = 0; j < cols; j++)
            for (size_t i = 0; i < rows; i++) to[i * pitch + j] = from[j * x->col_step + i];
    }
}
//@end

//@lab 1:
/* c[0..cols-1] += sum over UNROLL values of k of a[k] * b[k][..]. Each element of c is loaded and
 * stored once per UNROLL products, in order of k. */
static void add_products(tl_real *restrict c, const tl_real *restrict a,
                         const tl_real (*restrict b)[TILE], size_t cols) {
    for (size_t j = 0; j < cols; j++) {
        tl_real sum = c[j];
        for (int k = 0; k < UNROLL; k++) sum += a[k] * b[k][j];
        c[j] = sum;
    }
}
//@end

//@lab 1:
/* work->c = the tile of op(A)·op(B) at (i0, j0). */
static void multiply_tile(workplace *work, const operand *a, const operand *b, size_t i0, size_t j0,
                          size_t rows, size_t cols, size_t depth) {
    memset(work->c, 0, sizeof work->c);
    for (size_t k0 = 0; k0 < depth; k0 += DEPTH) {
        size_t slice = smaller(DEPTH, depth - k0);
        size_t whole = (slice + UNROLL - 1) / UNROLL * UNROLL;
        pack(&work->a[0][0], DEPTH, a, i0, k0, rows, slice);
        pack(&work->b[0][0], TILE, b, k0, j0, slice, cols);
        /* The last slice is filled up with zeros to whole steps of UNROLL. Zeros are needed in
         * both: zero times an infinity that an earlier slice left behind would be NaN. */
        for (size_t k = slice; k < whole; k++) {
            for (size_t i = 0; i < rows; i++) work->a[i][k] = 0;
            for (size_t j = 0; j < cols; j++) work->b[k][j] = 0;
        }
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < whole; k += UNROLL)
                add_products(work->c[i], &work->a[i][k], &work->b[k], cols);
    }
}
//@end

tl_status tl_matmul(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                    const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "tl_matmul: ctx, C, A, B or the geometry is NULL");

    operand a = make_operand(A, g->m, g->k, g->trans_a);
    operand b = make_operand(B, g->k, g->n, g->trans_b);
    //@lab 1: C = op(A)·op(B), or C += op(A)·op(B) where g->accumulate says so, for op(A) of m x k
    //@  and op(B) of k x n elements. Element (i, j) of op(A) is a.data[i*a.row_step +
    //@  j*a.col_step], whether A is stored transposed or not; three loops over that are right, and
    //@  enough for the points. Then make them quick: compute C in TILE x TILE tiles, and sum each
    //@  over slices of K. Copy ("pack") the pieces of op(A) and op(B) that a slice needs into
    //@  small arrays first: the copies undo the transposition, fit the first-level cache, and let
    //@  the inner loop walk along memory (Goto, van de Geijn, "Anatomy of High-Performance Matrix
    //@  Multiplication", 2008). Let threads share the tiles. Think of: tiles that stick out at the
    //@  right and at the bottom, and a last slice that is shorter; a zero that fills up a slice
    //@  may meet an infinity; what C holds before the first slice counts only if g->accumulate.
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    /* Tiles share no element of C, and each sums over all of K: any thread may take any tile. */
#pragma omp parallel for collapse(2) num_threads(ctx->threads) if (m * n * k >= PARALLEL_FROM)
    for (size_t i0 = 0; i0 < m; i0 += TILE) {
        for (size_t j0 = 0; j0 < n; j0 += TILE) {
            size_t rows = smaller(TILE, m - i0), cols = smaller(TILE, n - j0);
            workplace work;
            multiply_tile(&work, &a, &b, i0, j0, rows, cols, k);
            for (size_t i = 0; i < rows; i++) {
                tl_real *row = C + (i0 + i) * n + j0;
                for (size_t j = 0; j < cols; j++)
                    row[j] = g->accumulate ? row[j] + work.c[i][j] : work.c[i][j];
            }
        }
    }
    return TL_OK;
    //@skeleton
    // (void)a, (void)b;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
