/* 03_implicit_pixels.cu: forward and input gradient of rung 3, one launch each.
 *
 * Both sum over channels and taps; 03_implicit_view.h says over which. */
#include "kernels/conv2d/03_implicit_tile.h"
#include "kernels/conv2d/03_implicit_view.h"

/* The weights of channels from m0 on, and the pixels that output j0 + (the thread's column) reads
 * through each tap. */
template <class T, bool INPUT> struct pixels_source {
    static constexpr bool PREPARES = true;
    static constexpr int AT_ONCE = T::THREADS / T::N; /* rows of a tile that are loaded at once */
    static_assert(AT_ONCE * T::N == T::THREADS, "a thread stays in its column");
    const pixels_plan &a;
    const pixels_view &v;
    tap *taps; /* WINDOW of them in shared memory */
    const tl_real *__restrict__ w, *__restrict__ image;
    int m0, channels, h, x, at;

    __device__ pixels_source(const pixels_plan &a, const pixels_view &v, tap *taps,
                             const tl_real *w, const tl_real *in, int m0, int j0)
        : a(a), v(v), taps(taps), w(w), image(in), m0(m0), channels(INPUT ? a.g.c : a.g.k), h(FAR),
          x(0), at(0) {
        int j = j0 + (int)threadIdx.x % T::N;
        if (j >= v.count) return; /* every tap lies outside */
        pixels_spot s = spot_of(v, j);
        h = s.h * v.h.stride, x = s.w * v.w.stride, at = h * v.w.from + x;
        image += (size_t)s.n * (size_t)(INPUT ? a.g.k : a.g.c) * (v.h.from * v.w.from);
    }

    __device__ void prepare(int l0) const {
        for (int i = (int)threadIdx.x; i < WINDOW; i += T::THREADS) {
            int l = l0 + i;
            tap t = {0, FAR, 0, 0};
            if (l < v.depth) {
                int c = l / v.taps, rest = l % v.taps;
                int r = v.h.first + rest / v.w.taps * v.h.step;
                int s = v.w.first + rest % v.w.taps * v.w.step;
                t.h = origin<INPUT>(v.h, r), t.w = origin<INPUT>(v.w, s);
                t.offset = (c * v.h.from + t.h) * v.w.from + t.w;
                t.weight = INPUT ? (c * a.g.c * a.g.r + r) * a.g.s + s : l;
            }
            taps[i] = t;
        }
    }

    __device__ void fetch(tl_real (&wa)[T::A_LOADS], tl_real (&xb)[T::B_LOADS], int l0) const {
        const tap *step = taps + l0 % WINDOW;
        int row = INPUT ? a.g.r * a.g.s : v.depth; /* from one channel's weights to the next's */
#pragma unroll
        for (int i = 0; i < T::A_LOADS; i++) {
            int e = (int)threadIdx.x + i * T::THREADS, m = m0 + e / T::DEPTH, l = e % T::DEPTH;
            bool there = m < channels && l0 + l < v.depth;
            wa[i] = there ? w[m * row + (INPUT ? step[l].weight : l0 + l)] : TL_R(0);
        }
#pragma unroll
        for (int i = 0; i < T::B_LOADS; i++) {
            tap t = step[(int)threadIdx.x / T::N + i * AT_ONCE];
            bool inside = (unsigned)(h + t.h) < (unsigned)v.h.from &&
                          (unsigned)(x + t.w) < (unsigned)v.w.from;
            xb[i] = inside ? image[at + t.offset] : TL_R(0);
        }
    }

    __device__ void store(tiles<T> &to, const tl_real (&wa)[T::A_LOADS],
                          const tl_real (&xb)[T::B_LOADS]) const {
#pragma unroll
        for (int i = 0; i < T::A_LOADS; i++) {
            int e = (int)threadIdx.x + i * T::THREADS;
            to.a[e % T::DEPTH * T::A_PITCH + e / T::DEPTH] = wa[i];
        }
#pragma unroll
        for (int i = 0; i < T::B_LOADS; i++) {
            int e = (int)threadIdx.x + i * T::THREADS;
            to.b[e / T::N * T::B_PITCH + e % T::N] = xb[i];
        }
    }
};

/* The TM sums of V outputs side by side, from the thread's column `from` on. All is read before the
 * first is written. */
template <class T, bool INPUT, int V>
static __device__ void put(tl_real *out, const tl_real (&acc)[T::TM][T::TN], const ending &end,
                           const pixels_plan &a, const pixels_view &v, int m0, int j, int from) {
    int channels = INPUT ? a.g.c : a.g.k, ty = thread_m<T>();
    size_t plane = INPUT ? (size_t)a.g.h * a.g.w : (size_t)a.g.p * a.g.q;
    pixels_spot s = spot_of(v, j);
    int row = v.h.put + s.h * v.h.put_step, column = v.w.put + s.w * v.w.put_step;
    size_t at = (size_t)s.n * channels * plane + (size_t)row * (INPUT ? a.g.w : a.g.q) + column;
    pack<V> sum[T::TM];
#pragma unroll
    for (int i = 0; i < T::TM; i++) {
        int m = m0 + place<T::M, T::TM>(ty, i);
        if (m < channels) sum[i] = read_for<V>(end, at + m * plane);
    }
#pragma unroll
    for (int i = 0; i < T::TM; i++) {
        int m = m0 + place<T::M, T::TM>(ty, i);
        if (m >= channels) continue;
        tl_real bias = bias_of(end, m);
#pragma unroll
        for (int e = 0; e < V; e++) sum[i].v[e] = finish(end, acc[i][from + e], bias, sum[i].v[e]);
        *(pack<V> *)(out + at + m * plane) = sum[i];
    }
}

template <class T, bool INPUT>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    convolve(tl_real *out, const tl_real *__restrict__ in, const tl_real *__restrict__ w,
             ending end, pixels_plan a) {
    __shared__ tap taps[WINDOW];
    __shared__ tiles<T> s[2];
    pixels_view v = view_of<INPUT>(a, (int)blockIdx.z);
    int m0 = (int)blockIdx.x % a.across * T::M, j0 = (int)blockIdx.x / a.across * T::N;
    if (j0 >= v.count) return; /* a class may have fewer pixels than the first */
    tl_real acc[T::TM][T::TN] = {};
    sum_products<T>(acc, s, pixels_source<T, INPUT>(a, v, taps, w, in, m0, j0), v.depth);
    const int group = GROUP<T::TN>;
    int tx = thread_n<T>();
#pragma unroll
    for (int from = 0; from < T::TN; from += group) {
        int j = j0 + place<T::N, T::TN>(tx, from);
        if (group == 4 && a.fours) {
            if (j < v.count) put<T, INPUT, group>(out, acc, end, a, v, m0, j, from);
            continue;
        }
#pragma unroll
        for (int e = 0; e < group; e++)
            if (j + e < v.count) put<T, INPUT, 1>(out, acc, end, a, v, m0, j + e, from + e);
    }
}

/* ---- launches ---- */

template <class T, bool INPUT>
static void start(tl_ctx *ctx, tl_real *out, const tl_real *in, const tl_real *w, ending end,
                  pixels_plan a) {
    const tl_conv2d_geom *g = &a.g;
    int channels = INPUT ? g->c : g->k, classes = INPUT ? g->stride_h * g->stride_w : 1;
    int rows = INPUT ? (g->h - 1) / g->stride_h + 1 : g->p;
    int columns = INPUT ? (g->w - 1) / g->stride_w + 1 : g->q;
    a.across = (channels + T::M - 1) / T::M;
    int along = (g->n * rows * columns + T::N - 1) / T::N;
    dim3 grid((unsigned)(a.across * along), 1, (unsigned)classes);
    convolve<T, INPUT><<<grid, T::THREADS, 0, tl_stream(ctx)>>>(out, in, w, end, a);
}

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

/* The tile by the number of output channels; large ones only where they leave enough blocks. */
template <bool INPUT>
static void start_fitting(tl_ctx *ctx, tl_real *out, const tl_real *in, const tl_real *w,
                          ending end, const tl_conv2d_geom *g) {
    pixels_plan a = {*g, g->stride_h / common_divisor(g->stride_h, g->dil_h),
                     g->stride_w / common_divisor(g->stride_w, g->dil_w), 0, false};
    int plane = INPUT ? g->h * g->w : g->p * g->q, channels = INPUT ? g->c : g->k;
    a.fours = plane % 4 == 0 && (!INPUT || (g->stride_h == 1 && g->stride_w == 1)) &&
              rung_aligned(out, sizeof(pack<4>)) && rung_aligned(end.read, sizeof(pack<4>));
    bool many = (size_t)g->n * plane / 128 * ((channels + 127) / 128) >= FULL;
    if (channels <= 4)
        start<tiling<4, 64, 32, 4, 1>, INPUT>(ctx, out, in, w, end, a);
    else if (channels <= 8)
        start<tiling<8, 64, 32, 4, 1>, INPUT>(ctx, out, in, w, end, a);
    else if (channels <= 16)
        start<tiling<16, 64, 32, 4, 2>, INPUT>(ctx, out, in, w, end, a);
    else if (channels <= 32)
        start<tiling<32, 64, 16, 4, 4>, INPUT>(ctx, out, in, w, end, a);
    else if (!many)
        start<tiling<64, 64, 16, 4, 4>, INPUT>(ctx, out, in, w, end, a);
    else if (fill_tall(channels))
        start<large<128>, INPUT>(ctx, out, in, w, end, a);
    else
        start<large<64>, INPUT>(ctx, out, in, w, end, a);
}

extern "C" tl_status tl_rung_conv2d_implicit_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x,
                                                 const tl_real *w, ending end,
                                                 const tl_conv2d_geom *g, void *work) {
    if (!tl_rung_conv2d_deep_fwd(ctx, y, x, w, end, g, work))
        start_fitting<false>(ctx, y, x, w, end, g);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_conv2d_implicit_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy,
                                                       const tl_real *w, ending end,
                                                       const tl_conv2d_geom *g, void *work) {
    if (!tl_rung_conv2d_deep_bwd_input(ctx, dx, dy, w, end, g, work))
        start_fitting<true>(ctx, dx, dy, w, end, g);
    TL_LAUNCHED();
    return TL_OK;
}
