/* 01_tiles_forward.cu: y of rung 1 of linear: long sums by pieces, short ones by dots. */
#include "kernels/linear/01_tiles.h"

enum {
    FULL = 264, /* blocks that fill a large GPU twice */
    LEAST_PIECE = 64,
    DOT_ROWS = 2, /* for short inner dimensions: a warp makes 2 x 4 outputs, */
    DOT_COLUMNS = 4,
    DOT_MOST = 512, /* up to this length */
    DOT_WARPS = 4
};

/* Piece blockIdx.y of x · wᵀ. Both matrices run along the inner dimension, so a row of a tile is
 * loaded and stored, and later read, four numbers of it at a time (with V = 1 loaded one by one);
 * a thread's columns lie 16 apart, so that neighbours read different banks. g.in is a multiple of
 * 4. */
enum { PITCH = DEPTH + 4, FOURS = DEPTH / 4, FETCH = THREADS / FOURS };
template <int V>
static __device__ four row_of(const tl_real *__restrict__ m, int row, int rows, int k, int k1,
                              int pitch) {
    four v = {};
    if (row >= rows || k >= k1) return v;
    const tl_real *from = m + (size_t)row * pitch + k;
    if (V == 4) {
        v = *(const four *)from;
    } else {
#pragma unroll
        for (int e = 0; e < 4; e++) v.v[e] = from[e];
    }
    return v;
}

template <int V>
static __global__ void multiply_piece(tl_real *__restrict__ partial, const tl_real *__restrict__ x,
                                      const tl_real *__restrict__ w, tl_linear_geom g, int piece) {
    __shared__ __align__(32) tl_real a[ROWS * PITCH], b[COLUMNS * PITCH];
    int across = (g.out + COLUMNS - 1) / COLUMNS;
    int m0 = (int)blockIdx.x / across * ROWS, n0 = (int)blockIdx.x % across * COLUMNS;
    int k0 = (int)blockIdx.y * piece, k1 = k0 + piece < g.in ? k0 + piece : g.in;
    int line = (int)threadIdx.x / FOURS, at = (int)threadIdx.x % FOURS * 4;
    int ty = (int)threadIdx.x / 16 * 4, tx = (int)threadIdx.x % 16;
    four va[ROWS / FETCH], vb[COLUMNS / FETCH];
    tl_real acc[4][4] = {};
#pragma unroll
    for (int i = 0; i < ROWS / FETCH; i++)
        va[i] = row_of<V>(x, m0 + line + i * FETCH, g.n, k0 + at, k1, g.in);
#pragma unroll
    for (int i = 0; i < COLUMNS / FETCH; i++)
        vb[i] = row_of<V>(w, n0 + line + i * FETCH, g.out, k0 + at, k1, g.in);
    for (int k = k0; k < k1; k += DEPTH) {
#pragma unroll
        for (int i = 0; i < ROWS / FETCH; i++)
            *(four *)(a + (line + i * FETCH) * PITCH + at) = va[i];
#pragma unroll
        for (int i = 0; i < COLUMNS / FETCH; i++)
            *(four *)(b + (line + i * FETCH) * PITCH + at) = vb[i];
        __syncthreads();
        if (k + DEPTH < k1) {
#pragma unroll
            for (int i = 0; i < ROWS / FETCH; i++)
                va[i] = row_of<V>(x, m0 + line + i * FETCH, g.n, k + DEPTH + at, k1, g.in);
#pragma unroll
            for (int i = 0; i < COLUMNS / FETCH; i++)
                vb[i] = row_of<V>(w, n0 + line + i * FETCH, g.out, k + DEPTH + at, k1, g.in);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; d += 4) {
            four p[4], q[4];
#pragma unroll
            for (int i = 0; i < 4; i++) p[i] = *(const four *)(a + (ty + i) * PITCH + d);
#pragma unroll
            for (int j = 0; j < 4; j++) q[j] = *(const four *)(b + (tx + 16 * j) * PITCH + d);
#pragma unroll
            for (int e = 0; e < 4; e++)
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++) acc[i][j] += p[i].v[e] * q[j].v[e];
        }
        __syncthreads();
    }
    tl_real *to = partial + (size_t)blockIdx.y * g.n * g.out;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int m = m0 + ty + i, n = n0 + tx + 16 * j;
            if (m < g.n && n < g.out) to[(size_t)m * g.out + n] = acc[i][j];
        }
}

static __global__ void add_pieces(tl_real *__restrict__ y, const tl_real *__restrict__ partial,
                                  const tl_real *__restrict__ b, size_t size, int out, int pieces,
                                  bool relu) {
    for (size_t i = tl_thread(); i < size; i += tl_threads()) {
        tl_real v = 0;
#pragma unroll 8
        for (int k = 0; k < pieces; k++) v += partial[k * size + i];
        if (b) v += b[i % out];
        y[i] = relu && v < 0 ? TL_R(0) : v;
    }
}

/* A warp reads 2 rows of x and 4 of w along the inner dimension; its lanes' sums are combined as a
 * tree, always in the same order. */
static __global__ void dots(tl_real *__restrict__ y, const tl_real *__restrict__ x,
                            const tl_real *__restrict__ w, const tl_real *__restrict__ b,
                            tl_linear_geom g, bool relu) {
    int across = (g.out + DOT_COLUMNS - 1) / DOT_COLUMNS;
    int warp = (int)(blockIdx.x * DOT_WARPS + threadIdx.x / WARP), lane = (int)threadIdx.x % WARP;
    int m0 = warp / across * DOT_ROWS, n0 = warp % across * DOT_COLUMNS;
    if (m0 >= g.n) return;
    tl_real acc[DOT_ROWS][DOT_COLUMNS] = {};
#pragma unroll 4
    for (int k = lane; k < g.in; k += WARP) {
        tl_real a[DOT_ROWS], c[DOT_COLUMNS];
#pragma unroll
        for (int i = 0; i < DOT_ROWS; i++)
            a[i] = x[(size_t)(m0 + i < g.n ? m0 + i : m0) * g.in + k];
#pragma unroll
        for (int j = 0; j < DOT_COLUMNS; j++)
            c[j] = w[(size_t)(n0 + j < g.out ? n0 + j : n0) * g.in + k];
#pragma unroll
        for (int i = 0; i < DOT_ROWS; i++)
#pragma unroll
            for (int j = 0; j < DOT_COLUMNS; j++) acc[i][j] += a[i] * c[j];
    }
#pragma unroll
    for (int i = 0; i < DOT_ROWS; i++)
#pragma unroll
        for (int j = 0; j < DOT_COLUMNS; j++) {
            tl_real v = acc[i][j];
            for (int away = WARP / 2; away > 0; away /= 2)
                v += __shfl_xor_sync(0xffffffffu, v, away);
            if (lane != i * DOT_COLUMNS + j || m0 + i >= g.n || n0 + j >= g.out) continue;
            if (b) v += b[n0 + j];
            y[(size_t)(m0 + i) * g.out + n0 + j] = relu && v < 0 ? TL_R(0) : v;
        }
}

static tl_status run_dots(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                          const tl_real *b, const tl_linear_geom *g, bool relu) {
    int warps = (g->n + DOT_ROWS - 1) / DOT_ROWS * ((g->out + DOT_COLUMNS - 1) / DOT_COLUMNS);
    unsigned blocks = (unsigned)((warps + DOT_WARPS - 1) / DOT_WARPS);
    dots<<<blocks, DOT_WARPS * WARP, 0, tl_stream(ctx)>>>(y, x, w, b, *g, relu);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_linear_block_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x,
                                              const tl_real *w, const tl_real *b,
                                              const tl_linear_geom *g, bool relu, void *work) {
    TL_NEED(ctx && y && x && w && g && work, TL_EINVAL,
            "linear_block_fwd, rung 1: ctx, y, x, w, the geometry or work is NULL");
    TL_TRY(tl_linear_check(g));
    if (g->in <= DOT_MOST || g->in % 4 != 0) return run_dots(ctx, y, x, w, b, g, relu);
    int blocks = tiles_of(g->n, g->out), pieces = (FULL + blocks - 1) / blocks;
    if (pieces > TL_FUSED_SPLITS) pieces = TL_FUSED_SPLITS;
    int piece = (g->in + pieces - 1) / pieces;
    if (piece < LEAST_PIECE) piece = LEAST_PIECE;
    piece = (piece + DEPTH - 1) / DEPTH * DEPTH;
    pieces = (g->in + piece - 1) / piece;
    dim3 grid((unsigned)blocks, (unsigned)pieces);
    tl_real *partial = (tl_real *)work;
    bool fours = rung_aligned(x, sizeof(four)) && rung_aligned(w, sizeof(four));
    auto kernel = fours ? multiply_piece<4> : multiply_piece<1>;
    kernel<<<grid, THREADS, 0, tl_stream(ctx)>>>(partial, x, w, *g, piece);
    TL_LAUNCHED();
    size_t size = (size_t)g->n * (size_t)g->out;
    add_pieces<<<tl_blocks(size, THREADS), THREADS, 0, tl_stream(ctx)>>>(y, partial, b, size,
                                                                         g->out, pieces, relu);
    TL_LAUNCHED();
    return TL_OK;
}

/* Without scratch there are no pieces: long sums stay with the plain path. */
extern "C" tl_status tl_rung_linear_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                                        const tl_real *b, const tl_linear_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL,
            "linear_fwd, rung 1: ctx, y, x, w or the geometry is NULL");
    TL_TRY(tl_linear_check(g));
    if (g->in <= DOT_MOST) return run_dots(ctx, y, x, w, b, g, false);
    return tl_linear_fwd(ctx, y, x, w, b, g);
}
