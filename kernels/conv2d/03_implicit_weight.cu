/* 03_implicit_weight.cu: weight gradient of rung 3.
 *
 * dw[k,l] = sum over the outputs j of all images of dy[k,j] * x[pixel of j through tap l]: few sums
 * of very many terms. So the outputs are cut into chunks, as many as it takes to fill a GPU; each
 * leaves its sums in `work`, and a second kernel adds them in the order of the chunks. Geometry
 * alone says how many. */
#include "kernels/conv2d/03_implicit_tile.h"

/* Output j of the batch: where its image begins in x, where it lies in dy, for channel 0, and the
 * pixel that it begins with: h, w, and by elements. */
typedef struct weight_spot {
    size_t image, y;
    int h, w, at;
} weight_spot;

/* dy of the channels from m0 on, and what outputs first .. last-1 read through the taps from n0 on.
 */
template <class T> struct weight_source {
    static constexpr bool PREPARES = true;
    static constexpr int AT_ONCE = T::THREADS / T::DEPTH; /* rows of a tile loaded at once */
    static_assert(AT_ONCE * T::DEPTH == T::THREADS, "a thread stays with its output of a step");
    const tl_conv2d_geom &g;
    weight_spot *spots; /* WINDOW of them in shared memory */
    const tap *taps;    /* of the tile, likewise */
    const tl_real *__restrict__ dy, *__restrict__ x;
    int m0, first, last;

    __device__ void prepare(int l0) const {
        for (int i = (int)threadIdx.x; i < WINDOW; i += T::THREADS) {
            int j = first + l0 + i;
            weight_spot s = {0, 0, FAR, 0, 0};
            if (j < last) {
                int row = j / g.q, n = row / g.p, p = row % g.p, q = j % g.q;
                s.image = (size_t)n * (size_t)(g.c * g.h * g.w);
                s.y = (size_t)n * (size_t)(g.k * g.p * g.q) + (size_t)(p * g.q + q);
                s.h = p * g.stride_h, s.w = q * g.stride_w, s.at = s.h * g.w + s.w;
            }
            spots[i] = s;
        }
    }

    __device__ void fetch(tl_real (&a)[T::A_LOADS], tl_real (&b)[T::B_LOADS], int l0) const {
        int l = l0 + (int)threadIdx.x % T::DEPTH, line = (int)threadIdx.x / T::DEPTH;
        weight_spot s = spots[l % WINDOW];
        const tl_real *from_y = dy + s.y, *image = x + s.image;
        int plane = g.p * g.q;
#pragma unroll
        for (int i = 0; i < T::A_LOADS; i++) {
            int m = m0 + line + i * AT_ONCE;
            a[i] = m < g.k && first + l < last ? from_y[m * plane] : TL_R(0);
        }
#pragma unroll
        for (int i = 0; i < T::B_LOADS; i++) {
            tap t = taps[line + i * AT_ONCE];
            bool inside =
                (unsigned)(s.h + t.h) < (unsigned)g.h && (unsigned)(s.w + t.w) < (unsigned)g.w;
            b[i] = inside ? image[s.at + t.offset] : TL_R(0);
        }
    }

    __device__ void store(tiles<T> &to, const tl_real (&a)[T::A_LOADS],
                          const tl_real (&b)[T::B_LOADS]) const {
        store_lines<T>(to, a, b);
    }
};

/* What the kernel is told: tiles of taps, outputs of a chunk, and whether the sums are added to
 * what is there, as those of a single chunk are. */
typedef struct weight_plan {
    tl_conv2d_geom g;
    int across, chunk;
    bool adds;
} weight_plan;

/* Block (tile, chunk): the sums of its chunk, to[chunk][k][c,r,s]. */
template <class T>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    weigh(tl_real *to, const tl_real *__restrict__ dy, const tl_real *__restrict__ x,
          weight_plan a) {
    __shared__ tap taps[T::N];
    __shared__ weight_spot spots[WINDOW];
    __shared__ tiles<T> s[2];
    const tl_conv2d_geom &g = a.g;
    int m0 = (int)blockIdx.x / a.across * T::M, n0 = (int)blockIdx.x % a.across * T::N;
    int first = (int)blockIdx.y * a.chunk, left = g.n * g.p * g.q - first, all = g.c * g.r * g.s;
    int depth = left < a.chunk ? left : a.chunk;
    for (int i = (int)threadIdx.x; i < T::N; i += T::THREADS) {
        int l = n0 + i, row = l / g.s;
        tap t = {0, row % g.r * g.dil_h - g.pad_h, l % g.s * g.dil_w - g.pad_w, l};
        t.offset = (row / g.r * g.h + t.h) * g.w + t.w;
        if (l >= all) t = {0, FAR, 0, 0};
        taps[i] = t;
    }
    tl_real acc[T::TM][T::TN] = {};
    sum_products<T>(acc, s, weight_source<T>{g, spots, taps, dy, x, m0, first, first + depth},
                    depth);
    int ty = thread_m<T>(), tx = thread_n<T>();
    to += (size_t)blockIdx.y * (size_t)(g.k * all);
#pragma unroll
    for (int i = 0; i < T::TM; i++)
#pragma unroll
        for (int j = 0; j < T::TN; j++) {
            int m = m0 + place<T::M, T::TM>(ty, i), n = n0 + place<T::N, T::TN>(tx, j);
            if (m >= g.k || n >= all) continue;
            tl_real *at = to + m * all + n;
            *at = a.adds ? *at + acc[i][j] : acc[i][j];
        }
}

/* A block of TL_BLOCK threads adds the chunks of TL_BLOCK / `rows` sums: each row of threads every
 * rows-th chunk, with several loads on their way, and then the rows as a tree. A chunk's sums may
 * lie in another order than dw: [k][taps][channels] for dw[k][channels][taps]. */
enum { MOST_ROWS = 16, CHUNKS_OF_ROW = 8 };
static __global__ void add_chunks(tl_real *__restrict__ dw, const tl_real *__restrict__ partial,
                                  int size, int chunks, int rows, int taps, int channels) {
    __shared__ tl_real part[TL_BLOCK];
    int wide = TL_BLOCK / rows, row = (int)threadIdx.x / wide;
    int i = (int)blockIdx.x * wide + (int)threadIdx.x % wide;
    tl_real sum = 0;
    if (i < size) {
#pragma unroll 8
        for (int c = row; c < chunks; c += rows) sum += partial[(size_t)c * (size_t)size + i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = rows / 2; half > 0; half /= 2) {
        if (row < half) part[threadIdx.x] += part[threadIdx.x + half * wide];
        __syncthreads();
    }
    int line = i / channels, k = line / taps;
    if (row == 0 && i < size)
        dw[(k * channels + i % channels) * taps + line % taps] += part[threadIdx.x];
}

/* ---- launches ---- */

/* How many chunks fill a GPU together with `blocks` tiles, not one more, and fit in `work`; and how
 * many outputs, whole steps of them, each has. 0: not even one fits. */
int tl_rung_conv2d_chunks(const tl_ctx *ctx, const tl_conv2d_geom *g, int blocks, int threads,
                          int depth, int *chunk) {
    int outputs = g->n * g->p * g->q, most = (outputs - 1) / LEAST_CHUNK + 1;
    int chunks = FULL * 256 / threads / blocks;
    size_t sums = tl_conv2d_w_size(g) * sizeof(tl_real);
    size_t fit = tl_rung_conv2d_implicit_work_bytes(ctx, g) / sums;
    if (chunks > most) chunks = most;
    if (chunks < 1) chunks = 1;
    if ((size_t)chunks > fit) chunks = (int)fit;
    if (chunks == 0) return 0;
    *chunk = (outputs - 1) / chunks / depth * depth + depth;
    return (outputs - 1) / *chunk + 1;
}

void tl_rung_conv2d_add_chunks(tl_ctx *ctx, tl_real *dw, const tl_real *partial,
                               const tl_conv2d_geom *g, int chunks, int channels) {
    int size = (int)tl_conv2d_w_size(g), rows = 1;
    while (rows < MOST_ROWS && rows * CHUNKS_OF_ROW < chunks) rows *= 2;
    int wide = TL_BLOCK / rows, taps = g->c * g->r * g->s / channels;
    add_chunks<<<(unsigned)((size + wide - 1) / wide), TL_BLOCK, 0, tl_stream(ctx)>>>(
        dw, partial, size, chunks, rows, taps, channels);
}

template <class T>
static tl_status start(tl_ctx *ctx, tl_real *dw, const tl_real *dy, const tl_real *x,
                       const tl_conv2d_geom *g, void *work) {
    int terms = (int)tl_conv2d_col_rows(g);
    weight_plan a = {*g, (terms - 1) / T::N + 1, g->n * g->p * g->q, true};
    int blocks = ((g->k - 1) / T::M + 1) * a.across;
    int chunks = tl_rung_conv2d_chunks(ctx, g, blocks, T::THREADS, T::DEPTH, &a.chunk);
    a.adds = chunks <= 1;
    dim3 grid((unsigned)blocks, (unsigned)(a.adds ? 1 : chunks));
    weigh<T><<<grid, T::THREADS, 0, tl_stream(ctx)>>>(a.adds ? dw : (tl_real *)work, dy, x, a);
    TL_LAUNCHED();
    if (!a.adds) tl_rung_conv2d_add_chunks(ctx, dw, (const tl_real *)work, g, chunks, terms);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_conv2d_implicit_bwd_weight(tl_ctx *ctx, tl_real *dw, const tl_real *dy,
                                                        const tl_real *x, const tl_conv2d_geom *g,
                                                        void *work) {
    bool many = tl_conv2d_col_rows(g) > 64;
    if (g->k <= 8) return start<tiling<8, 32, 32, 2, 1>>(ctx, dw, dy, x, g, work);
    if (g->k <= 16) return start<tiling<16, 32, 32, 2, 2>>(ctx, dw, dy, x, g, work);
    if (g->k <= 32) return start<tiling<32, 64, 16, 4, 4>>(ctx, dw, dy, x, g, work);
    if (!many) return start<tiling<64, 64, 16, 4, 4>>(ctx, dw, dy, x, g, work);
    if (tl_rung_conv2d_deep_bwd_weight(ctx, dw, dy, x, g, work)) {
        TL_LAUNCHED();
        return TL_OK;
    }
    if (fill_tall(g->k)) return start<large<128>>(ctx, dw, dy, x, g, work);
    return start<large<64>>(ctx, dw, dy, x, g, work);
}
