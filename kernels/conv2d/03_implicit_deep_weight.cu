/* 03_implicit_deep_weight.cu: weight gradient of rung 3 for layers of many channels.
 *
 * As 03_implicit_weight.cu, but the columns of a tile are ordered by taps first: each half of them
 * is one tap and channels side by side. So a thread asks twice a step whether its pixel lies in the
 * image, and goes from plane to plane. The sums of a chunk are left in that order too. */
#include "kernels/conv2d/03_implicit_tile.h"

/* What the kernels are told: tiles of columns, outputs of a chunk. */
typedef struct deep_weight_plan {
    tl_conv2d_geom g;
    int across, chunk;
} deep_weight_plan;

/* Output j: its image and place in x, as if its first tap lay there, and in dy; the pixel that it
 * begins with. */
typedef struct deep_weight_spot {
    long long x, y;
    int h, w;
} deep_weight_spot;

/* One half of a tile's columns for one thread: its tap, and where its first channel lies from the
 * pixel that an output begins with. */
typedef struct tile_half {
    int h, w;
    long long offset;
} tile_half;

template <class T> struct deep_weight_source {
    static constexpr bool PREPARES = true;
    static constexpr int AT_ONCE = T::THREADS / T::DEPTH, HALF = T::B_LOADS / 2;
    static_assert(AT_ONCE * T::DEPTH == T::THREADS && HALF * 2 == T::B_LOADS, "whole halves");
    const tl_conv2d_geom &g;
    deep_weight_spot *spots; /* WINDOW of them in shared memory */
    const tl_real *__restrict__ dy, *__restrict__ x;
    int m0, first, last;
    tile_half halves[2];

    __device__ deep_weight_source(const tl_conv2d_geom &g, deep_weight_spot *spots,
                                  const tl_real *dy, const tl_real *x, int m0, int n0, int first,
                                  int last)
        : g(g), spots(spots), dy(dy), x(x), m0(m0), first(first), last(last) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int n = n0 + i * T::N / 2, tap = n / g.c, c = n % g.c + (int)threadIdx.x / T::DEPTH;
            int h = tap / g.s * g.dil_h - g.pad_h, w = tap % g.s * g.dil_w - g.pad_w;
            halves[i] = {tap < g.r * g.s ? h : FAR, w, ((long long)c * g.h + h) * g.w + w};
        }
    }

    __device__ void prepare(int l0) const {
        for (int i = (int)threadIdx.x; i < WINDOW; i += T::THREADS) {
            int j = first + l0 + i;
            deep_weight_spot s = {0, 0, FAR, 0};
            if (j < last) {
                int row = j / g.q, n = row / g.p, p = row % g.p, q = j % g.q;
                s.h = p * g.stride_h, s.w = q * g.stride_w;
                s.x = (long long)n * (g.c * g.h * g.w) + s.h * g.w + s.w;
                s.y = (long long)n * (g.k * g.p * g.q) + p * g.q + q;
            }
            spots[i] = s;
        }
    }

    /* Threads side by side have neighbours of the outputs, and every AT_ONCE-th line of a tile. */
    __device__ void copy(tiles<T> &to, int l0) const {
        int column = (int)threadIdx.x % T::DEPTH, line = (int)threadIdx.x / T::DEPTH;
        int l = l0 + column, m = m0 + line;
        deep_weight_spot s = spots[l % WINDOW];
        const tl_real *from = dy + s.y;
        int plane = g.p * g.q, pixels = g.h * g.w;
        bool there = first + l < last;
#pragma unroll
        for (int i = 0; i < T::A_LOADS; i++) {
            int k = m + i * AT_ONCE; /* what lies past the last filter is not written */
            copy_async<1>(to.a + column * T::A_PITCH + line + i * AT_ONCE,
                          from + (k < g.k ? k : g.k - 1) * plane, there);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            bool inside = (unsigned)(s.h + halves[i].h) < (unsigned)g.h &&
                          (unsigned)(s.w + halves[i].w) < (unsigned)g.w;
            const tl_real *pixel = inside ? x + s.x + halves[i].offset : x;
#pragma unroll
            for (int e = 0; e < HALF; e++)
                copy_async<1>(to.b + column * T::B_PITCH + line + (i * HALF + e) * AT_ONCE,
                              pixel + (inside ? e * AT_ONCE * pixels : 0), inside);
        }
    }
};

/* Block (tile, chunk): the sums of its chunk, to[chunk][k][r,s][c]. */
template <class T>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    weigh(tl_real *to, const tl_real *__restrict__ dy, const tl_real *__restrict__ x,
          deep_weight_plan a) {
    __shared__ deep_weight_spot spots[WINDOW];
    __shared__ tiles<T> s[STAGES<T>];
    const tl_conv2d_geom &g = a.g;
    int m0 = (int)blockIdx.x / a.across * T::M, n0 = (int)blockIdx.x % a.across * T::N;
    int first = (int)blockIdx.y * a.chunk, left = g.n * g.p * g.q - first, all = g.c * g.r * g.s;
    int depth = left < a.chunk ? left : a.chunk;
    tl_real acc[T::TM][T::TN] = {};
    sum_copied_products<T>(
        acc, s, deep_weight_source<T>(g, spots, dy, x, m0, n0, first, first + depth), depth);
    to += (size_t)blockIdx.y * (size_t)(g.k * all);
#pragma unroll
    for (int i = 0; i < T::TM; i++)
#pragma unroll
        for (int j = 0; j < T::TN; j++) {
            int m = m0 + place<T::M, T::TM>(thread_m<T>(), i);
            int n = n0 + place<T::N, T::TN>(thread_n<T>(), j);
            if (m < g.k && n < all) to[m * all + n] = acc[i][j];
        }
}

template <class T>
static bool start(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                  const tl_conv2d_geom *g, void *work) {
    deep_weight_plan a = {*g, ((int)tl_conv2d_col_rows(g) - 1) / T::N + 1, 0};
    int blocks = ((g->k - 1) / T::M + 1) * a.across;
    int chunks = tl_rung_conv2d_chunks(ctx, g, blocks, T::THREADS, T::DEPTH, &a.chunk);
    if (chunks == 0 || g->c % (T::N / 2) != 0) return false;
    dim3 grid((unsigned)blocks, (unsigned)chunks);
    weigh<T><<<grid, T::THREADS, 0, tl_stream(ctx)>>>((tl_real *)work, dy, x, a);
    tl_rung_conv2d_add_chunks(ctx, dw, (const tl_real *)work, g, chunks, g->c);
    return true;
}

extern "C" bool tl_rung_conv2d_deep_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy,
                                               const tl_real *x, const tl_conv2d_geom *g,
                                               void *work) {
    if (g->k <= 32) return false;
    if (fill_tall(g->k)) return start<large<128>>(ctx, dw, dy, x, g, work);
    return start<large<64>>(ctx, dw, dy, x, g, work);
}
