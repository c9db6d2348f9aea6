/* 01_tiles_backward.cu: dx, dw and db of rung 1 of linear, in one launch. */
#include "kernels/linear/01_narrow.h"
#include "kernels/linear/01_tiles.h"

enum {
    A_PITCH = ROWS + 4,
    B_PITCH = COLUMNS + 4,
    A_LOADS = ROWS * DEPTH / THREADS,
    B_LOADS = COLUMNS * DEPTH / THREADS
};

/* A matrix [rows, columns] to read: element (i,j) lies at i*row + j*column, one of the steps is 1.
 * Where mask is not NULL, elements whose mask is not positive count as 0. */
typedef struct matrix {
    const tl_real *data, *mask;
    int rows, columns, row, column;
} matrix;

static __device__ bool positive(tl_real v) { return v > 0; }

/* The A and B tiles of one step, on their way from memory, V neighbours at a time: along A's inner
 * dimension (A_INNER) or across it, and along the rows of B. With V = 4 all sizes are multiples
 * of 4. Nothing waits for a load here. */
template <bool A_INNER, bool MASK, int V>
static __device__ void fetch(pack<V> (&a)[A_LOADS / V], pack<V> (&b)[B_LOADS / V], const matrix &A,
                             const matrix &B, int m0, int n0, int k0) {
    const tl_real *__restrict__ data_a = A.data, *__restrict__ data_b = B.data;
    const tl_real *__restrict__ mask = A.mask;
    const int across = (A_INNER ? DEPTH : ROWS) / V;
    pack<V> keep[A_LOADS / V];
#pragma unroll
    for (int i = 0; i < A_LOADS / V; i++) {
        int e = (int)threadIdx.x + i * THREADS, line = e / across, place = e % across * V;
        int m = m0 + (A_INNER ? line : place), k = k0 + (A_INNER ? place : line);
        size_t at = A_INNER ? (size_t)m * A.row + k : (size_t)k * A.column + m;
        bool there = m < A.rows && k < A.columns;
        a[i] = there ? *(const pack<V> *)(data_a + at) : pack<V>{};
        if (MASK) keep[i] = there ? *(const pack<V> *)(mask + at) : pack<V>{};
    }
#pragma unroll
    for (int i = 0; i < B_LOADS / V; i++) {
        int e = (int)threadIdx.x + i * THREADS;
        int k = k0 + e / (COLUMNS / V), n = n0 + e % (COLUMNS / V) * V;
        bool there = k < B.rows && n < B.columns;
        b[i] = there ? *(const pack<V> *)(data_b + (size_t)k * B.row + n) : pack<V>{};
    }
#pragma unroll
    for (int i = 0; MASK && i < A_LOADS / V; i++)
#pragma unroll
        for (int v = 0; v < V; v++)
            if (!positive(keep[i].v[v])) a[i].v[v] = 0;
}

typedef struct tiles {
    alignas(32) tl_real a[DEPTH * A_PITCH];
    alignas(32) tl_real b[DEPTH * B_PITCH];
} tiles;

template <bool A_INNER, int V>
static __device__ void store(tiles &s, const pack<V> (&a)[A_LOADS / V],
                             const pack<V> (&b)[B_LOADS / V]) {
    const int across = (A_INNER ? DEPTH : ROWS) / V;
#pragma unroll
    for (int i = 0; i < A_LOADS / V; i++) {
        int e = (int)threadIdx.x + i * THREADS, line = e / across, place = e % across * V;
        if (A_INNER) {
#pragma unroll
            for (int v = 0; v < V; v++) s.a[(place + v) * A_PITCH + line] = a[i].v[v];
        } else {
            *(pack<V> *)(s.a + line * A_PITCH + place) = a[i];
        }
    }
#pragma unroll
    for (int i = 0; i < B_LOADS / V; i++) {
        int e = (int)threadIdx.x + i * THREADS;
        *(pack<V> *)(s.b + e / (COLUMNS / V) * B_PITCH + e % (COLUMNS / V) * V) = b[i];
    }
}

/* acc = the thread's 4 x 4 elements of A·B over the inner dimension of `depth`. With SUM, the first
 * ROWS threads also add up their row of A. The next tiles are fetched while these are used. */
template <bool A_INNER, bool MASK, int V>
static __device__ void multiply(tl_real (&acc)[4][4], tl_real &row_sum, bool sum, tiles &s,
                                const matrix &A, const matrix &B, int m0, int n0, int depth) {
    pack<V> a[A_LOADS / V], b[B_LOADS / V];
    int ty = (int)threadIdx.x / (COLUMNS / 4), tx = (int)threadIdx.x % (COLUMNS / 4);
    fetch<A_INNER, MASK, V>(a, b, A, B, m0, n0, 0);
    for (int k = 0; k < depth; k += DEPTH) {
        store<A_INNER, V>(s, a, b);
        __syncthreads();
        if (k + DEPTH < depth) fetch<A_INNER, MASK, V>(a, b, A, B, m0, n0, k + DEPTH);
#pragma unroll 8
        for (int d = 0; d < DEPTH; d++) {
            four x = *(const four *)(s.a + d * A_PITCH + 4 * ty);
            four w = *(const four *)(s.b + d * B_PITCH + 4 * tx);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] += x.v[i] * w.v[j];
        }
        if (sum && threadIdx.x < ROWS) {
#pragma unroll 8
            for (int d = 0; d < DEPTH; d++) row_sum += s.a[d * A_PITCH + threadIdx.x];
        }
        __syncthreads();
    }
}

/* Writes the thread's elements to c[rows, columns], or adds them: all are read before the first is
 * written. `fours`: four neighbours of a row may be written in one go. */
static __device__ void put_tile(tl_real *c, const tl_real (&acc)[4][4], int rows, int columns,
                                int m0, int n0, bool overwrite, bool fours) {
    int m = m0 + (int)threadIdx.x / (COLUMNS / 4) * 4,
        n = n0 + (int)threadIdx.x % (COLUMNS / 4) * 4;
    if (m + 4 <= rows && n + 4 <= columns && fours) {
        four v[4];
        tl_real *at = c + (size_t)m * columns + n;
#pragma unroll
        for (int i = 0; i < 4; i++) v[i] = overwrite ? four{} : *(four *)(at + (size_t)i * columns);
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 4; j++) v[i].v[j] += acc[i][j];
            *(four *)(at + (size_t)i * columns) = v[i];
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (m + i >= rows || n + j >= columns) continue;
            size_t at = (size_t)(m + i) * columns + n + j;
            c[at] = overwrite ? acc[i][j] : c[at] + acc[i][j];
        }
}

/* Blocks below dx_tiles make dx = dy · w, the others dw = dyᵀ · x and, those of its first column,
 * db; of a narrow layer (01_narrow.h) its strips. */
template <bool MASK, int V, bool NARROW>
static __global__ void backward(tl_real *dx, tl_real *dw, tl_real *db, const tl_real *dy,
                                const tl_real *y, const tl_real *x, const tl_real *w,
                                tl_linear_geom g, int dx_tiles, bool fresh, bool put_fours) {
    __shared__ union {
        tiles tile;
        narrow_sums<THREADS> sums;
    } s;
    int across = (g.in + COLUMNS - 1) / COLUMNS, tile = (int)blockIdx.x;
    bool input = tile < dx_tiles;
    if (!input) tile -= dx_tiles;
    if (NARROW && !input) {
        add_strip<MASK, THREADS>(dw, db, dy, y, x, g, tile, s.sums);
        return;
    }
    int m0 = tile / across * ROWS, n0 = tile % across * COLUMNS;
    tl_real acc[4][4] = {}, sum = 0;
    if (input) {
        matrix A = {dy, y, g.n, g.out, g.out, 1}, B = {w, NULL, g.out, g.in, g.in, 1};
        multiply<true, MASK, V>(acc, sum, false, s.tile, A, B, m0, n0, g.out);
        put_tile(dx, acc, g.n, g.in, m0, n0, fresh, put_fours);
    } else {
        matrix A = {dy, y, g.out, g.n, 1, g.out}, B = {x, NULL, g.n, g.in, g.in, 1};
        multiply<false, MASK, V>(acc, sum, db && n0 == 0, s.tile, A, B, m0, n0, g.n);
        put_tile(dw, acc, g.out, g.in, m0, n0, false, put_fours);
        int o = m0 + (int)threadIdx.x;
        if (db && n0 == 0 && threadIdx.x < ROWS && o < g.out) db[o] += sum;
    }
}

static tl_status run_backward(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db, const tl_real *dy,
                              const tl_real *y, const tl_real *x, const tl_real *w,
                              const tl_linear_geom *g, bool fresh) {
    bool narrow = g->out <= NARROW_MOST;
    int dx_tiles = dx ? tiles_of(g->n, g->in) : 0;
    int dw_tiles = !dw ? 0 : narrow ? strips_of(g) : tiles_of(g->out, g->in);
    /* what a quick path loads or stores in one go: NULL counts as aligned */
    const void *read[] = {dy, y, x, w}, *written[] = {dx, dw};
    bool put_fours = g->in % 4 == 0, fours = put_fours && g->out % 4 == 0;
    for (const void *p : read) fours = fours && rung_aligned(p, sizeof(four));
    for (const void *p : written) put_fours = put_fours && rung_aligned(p, sizeof(four));
    static void (*const kernels[2][2][2])(tl_real *, tl_real *, tl_real *, const tl_real *,
                                          const tl_real *, const tl_real *, const tl_real *,
                                          tl_linear_geom, int, bool, bool) = {
        {{backward<false, 1, false>, backward<false, 1, true>},
         {backward<false, 4, false>, backward<false, 4, true>}},
        {{backward<true, 1, false>, backward<true, 1, true>},
         {backward<true, 4, false>, backward<true, 4, true>}}};
    auto kernel = kernels[y != NULL][fours][narrow];
    kernel<<<(unsigned)(dx_tiles + dw_tiles), THREADS, 0, tl_stream(ctx)>>>(
        dx, dw, db, dy, y, x, w, *g, dx_tiles, fresh, put_fours);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_linear_block_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db,
                                              const tl_real *dy, const tl_real *y, const tl_real *x,
                                              const tl_real *w, const tl_linear_geom *g,
                                              bool fresh) {
    TL_NEED(ctx && dw && db && dy && x && w && g, TL_EINVAL,
            "linear_block_bwd, rung 1: ctx, dw, db, dy, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    return run_backward(ctx, dx, dw, db, dy, y, x, w, g, fresh);
}

extern "C" tl_status tl_rung_linear_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy,
                                              const tl_real *w, const tl_linear_geom *g) {
    TL_NEED(ctx && dx && dy && w && g, TL_EINVAL,
            "linear_bwd_input, rung 1: ctx, dx, dy, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    return run_backward(ctx, dx, NULL, NULL, dy, NULL, NULL, w, g, false);
}

extern "C" tl_status tl_rung_linear_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy,
                                               const tl_real *x, const tl_linear_geom *g) {
    TL_NEED(ctx && dw && dy && x && g, TL_EINVAL,
            "linear_bwd_weight, rung 1: ctx, dw, dy, x or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    return run_backward(ctx, NULL, dw, NULL, dy, NULL, x, NULL, g, false);
}
