/* 03_vectors.c: rung 3 of gemm on cpu: sums in registers, factors packed in the order of use.
 *
 * Idea: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008. A tile of
 *   HIGH x WIDE sums (6 x 16 floats with AVX2: 12 of its 16 registers) stays in registers for a
 *   whole slice of k. What it reads is packed before: op(A) in strips of HIGH rows, op(B) in strips
 *   of WIDE columns, k by k, so that both are read from left to right. A strip of B (16 KiB) stays
 *   in the first-level cache, the block of A (256 KiB at most) in the second.
 * Before: each multiply-add loaded and stored C. Now a step of k is 2 loads and 6 broadcasts for 12
 *   multiply-adds of vectors, and C is touched once a slice.
 * Bound: multiply-adds. Packing costs 1 number for each 120 to 128 multiply-adds of a full tile.
 * Shapes: all. Strips past the edge are filled with zeros, and only what lies in C is stored. A
 *   tile of C is one thread's and slices come in order: same bits at any number of threads. */
#include <string.h>

#include "../rungs.h"
#include "../vector.h"
#include "kernels/gemm_vectors.h"

enum { HIGH = 6, VECTORS = 2 };
#define WIDE (VECTORS * VEC_LANES)
enum {
    DEPTH = 1024 / sizeof(tl_real), /* of a slice: both blocks lie on a thread's stack */
    ROWS = 40 * HIGH,               /* of a tile of C, at most */
    COLS = 256,
};

/* Where op(X) lies: one step down and one step along, in numbers. */
typedef struct view {
    const tl_real *at;
    size_t down, along;
} view;

static int least(int a, int b) { return a < b ? a : b; }

/* to[strip][k][i] = from at (k, first + i), zeros from `lines` on; `line` is the step from line to
 * line, `step` that of k. */
static void pack(tl_real *to, const tl_real *from, size_t line, size_t step, int lines, int size,
                 int depth) {
    for (int first = 0; first < lines; first += size, to += (size_t)size * (size_t)depth) {
        int here = least(size, lines - first);
        if (here < size) memset(to, 0, (size_t)size * (size_t)depth * sizeof *to);
        const tl_real *strip = from + (size_t)first * line;
        if (line == 1) {
            for (int k = 0; k < depth; k++)
                for (int i = 0; i < here; i++)
                    to[k * size + i] = strip[(size_t)k * step + (size_t)i];
        } else {
            for (int i = 0; i < here; i++)
                for (int k = 0; k < depth; k++)
                    to[k * size + i] = strip[(size_t)i * line + (size_t)k * step];
        }
    }
}

/* to[HIGH][WIDE] = the sums over a slice of a strip of A and one of B. */
static void sum_strips(tl_real *to, const tl_real *a, const tl_real *b, int depth) {
    vec sum[HIGH][VECTORS] = {{{0}}};
    for (int k = 0; k < depth; k++, a += HIGH, b += WIDE) {
        vec b0 = vec_load_once(b), b1 = vec_load_once(b + VEC_LANES);
#pragma GCC unroll 6
        for (int i = 0; i < HIGH; i++) {
            sum[i][0] = vec_fma(vec_all(a[i]), b0, sum[i][0]);
            sum[i][1] = vec_fma(vec_all(a[i]), b1, sum[i][1]);
        }
    }
    for (int i = 0; i < HIGH; i++)
        for (int v = 0; v < VECTORS; v++) vec_store(to + i * WIDE + v * VEC_LANES, sum[i][v]);
}

/* c = or += what of a tile of sums lies in C */
static void put(tl_real *c, size_t pitch, const tl_real *sum, int rows, int cols, int adds) {
    for (int i = 0; i < rows; i++, c += pitch, sum += WIDE)
        for (int j = 0; j < cols; j++) c[j] = adds ? c[j] + sum[j] : sum[j];
}

static void make_tile(tl_real *C, view A, view B, const tl_matmul_geom *g, int rows, int cols) {
    tl_real a[(size_t)ROWS * DEPTH], b[(size_t)COLS * DEPTH], sum[HIGH * WIDE];
    for (int k0 = 0, depth; k0 < g->k; k0 += depth) {
        depth = least(DEPTH, g->k - k0);
        pack(a, A.at + (size_t)k0 * A.along, A.down, A.along, rows, HIGH, depth);
        pack(b, B.at + (size_t)k0 * B.down, B.along, B.down, cols, WIDE, depth);
        for (int j = 0; j < cols; j += WIDE)
            for (int i = 0; i < rows; i += HIGH) {
                sum_strips(sum, a + (size_t)i * (size_t)depth, b + (size_t)j * (size_t)depth,
                           depth);
                put(C + (size_t)i * (size_t)g->n + j, (size_t)g->n, sum, least(HIGH, rows - i),
                    least(WIDE, cols - j), k0 > 0 || g->accumulate);
            }
    }
}

/* Columns of a tile: fewer where there would be fewer tiles than threads. No sum knows of it. */
static int columns_of(const tl_ctx *ctx, const tl_matmul_geom *g) {
    int down = (g->m - 1) / ROWS + 1, across = (ctx->threads - 1) / down + 1;
    int strips = (g->n - 1) / WIDE + 1;
    return least(COLS, ((strips - 1) / across + 1) * WIDE);
}

tl_status tl_gemm_vectors(tl_ctx *ctx, tl_real *C, const tl_real *A, const tl_real *B,
                          const tl_matmul_geom *g) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 3: ctx, C, A, B or g is NULL");
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    view a = {A, g->trans_a ? 1 : k, g->trans_a ? m : 1};
    view b = {B, g->trans_b ? 1 : n, g->trans_b ? k : 1};
    int columns = columns_of(ctx, g);
    long long across = (g->n - 1) / columns + 1, tiles = ((g->m - 1) / ROWS + 1) * across;
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads) if (tiles > 1)
    for (long long t = 0; t < tiles; t++) {
        size_t i = (size_t)(t / across) * ROWS, j = (size_t)(t % across) * (size_t)columns;
        make_tile(C + i * n + j, (view){A + i * a.down, a.down, a.along},
                  (view){B + j * b.along, b.down, b.along}, g, m - i < ROWS ? (int)(m - i) : ROWS,
                  least((int)(n - j), columns));
    }
    return TL_OK;
}

void tl_rung_gemm_vectors(tl_backend *ops) { ops->gemm = tl_gemm_vectors; }
