/* 03_implicit_deep.cu: forward and input gradient of rung 3 for layers of many channels.
 *
 * In 03_implicit_pixels.cu the numbers of a step lie in several taps, and each load works out
 * where: a third of the instructions. With many channels a step can take DEPTH channels of one
 * tap: then a thread asks once a step whether its pixel lies in the image, and goes from plane
 * to plane. The weights are first copied into the order in which steps read them, four at a
 * time. Nobody waits for what goes to shared memory: three steps are on their way there. Where
 * there are too few tiles for a GPU, the steps are shared out among several blocks, whose sums
 * are added in order. */
#include "kernels/conv2d/03_implicit_tile.h"

/* What the kernels are told. Tap (r,s) of output (i,j) is the pixel (i * stride_h + start_h +
 * r * step_h, j * stride_w + start_w + s * step_w). */
typedef struct deep_plan {
    int n, in, out;     /* images, channels that are read, channels of the result */
    int from_h, from_w; /* planes that are read */
    int rows, columns;  /* planes of the result */
    int stride_h, stride_w, start_h, start_w, step_h, step_w;
    int r, s;
    int across, pitch; /* tiles of channels; weights of a row in the copy */
    int steps, share;  /* all of them, and those of a block */
    bool fours;        /* the result is written in fours */
} deep_plan;

/* copy[l][m] = the weight of channel m for term l = ((c / depth) * R*S + tap) * depth + c % depth,
 * zero from m = out on. INPUT: of the gradient, where the filters are what is read. */
template <bool INPUT>
static __global__ void order_weights(tl_real *__restrict__ copy, const tl_real *__restrict__ w,
                                     deep_plan a, int depth) {
    int taps = a.r * a.s, i = (int)tl_thread(), m = i % a.pitch, c = i / a.pitch;
    if (c >= a.in) return;
    const tl_real *from = w + (INPUT ? c * a.out + m : m * a.in + c) * taps;
    tl_real *to = copy + (size_t)(c / depth * taps * depth + c % depth) * a.pitch + m;
    for (int tap = 0; tap < taps; tap++)
        to[(size_t)tap * depth * a.pitch] = m < a.out ? from[tap] : TL_R(0);
}

template <class T> struct deep_source {
    static constexpr bool PREPARES = false;
    static constexpr int AT_ONCE = T::THREADS / T::N, EACH = 16 / sizeof(tl_real);
    static_assert(AT_ONCE * T::N == T::THREADS, "a thread stays in its column");
    static_assert(T::A_LOADS == 4, "a thread copies four weights of a step side by side");
    const deep_plan &a;
    const tl_real *__restrict__ weights, *__restrict__ image;
    int h, w;           /* the pixel that the thread's output begins with */
    int r, s, at_plane; /* the next step: its tap, and the plane of its first channel */

    /* Begins with step `first`, of channels from m0 on and the outputs from j0 on. */
    __device__ deep_source(const deep_plan &a, const tl_real *copy, const tl_real *in, int m0,
                           int j0, int first)
        : a(a), image(in), h(FAR), w(0) {
        int tid = (int)threadIdx.x, row = tid / (T::M / 4), plane = a.from_h * a.from_w;
        weights = copy + (size_t)(first * T::DEPTH + row) * a.pitch + m0 + tid % (T::M / 4) * 4;
        int tap = first % (a.r * a.s), j = j0 + tid % T::N, line = j / a.columns;
        r = tap / a.s, s = tap % a.s;
        at_plane = (first / (a.r * a.s) * T::DEPTH + tid / T::N) * plane;
        if (line >= a.n * a.rows) return; /* every tap lies outside */
        h = line % a.rows * a.stride_h + a.start_h;
        w = j % a.columns * a.stride_w + a.start_w;
        image += (size_t)(line / a.rows) * (size_t)(a.in * plane);
    }

    __device__ void copy(tiles<T> &to, int) {
        int tid = (int)threadIdx.x, row = tid / (T::M / 4), column = tid % (T::M / 4) * 4;
#pragma unroll
        for (int i = 0; i < 4; i += EACH)
            copy_async<EACH>(to.a + row * T::A_PITCH + column + i, weights + i, true);
        int y = h + r * a.step_h, x = w + s * a.step_w, plane = a.from_h * a.from_w;
        bool inside = (unsigned)y < (unsigned)a.from_h && (unsigned)x < (unsigned)a.from_w;
        /* (unsigned: far outside it wraps, and is not looked at) */
        int at = (int)((unsigned)at_plane + (unsigned)y * (unsigned)a.from_w + (unsigned)x);
#pragma unroll
        for (int i = 0; i < T::B_LOADS; i++)
            copy_async<1>(to.b + (tid / T::N + i * AT_ONCE) * T::B_PITCH + tid % T::N,
                          inside ? image + at + i * AT_ONCE * plane : image, inside);
        weights += (size_t)T::DEPTH * a.pitch;
        if (++s < a.s) return;
        s = 0;
        if (++r < a.r) return;
        r = 0;
        at_plane += T::DEPTH * plane;
    }
};

/* V outputs side by side, from j on, of the thread's TM channels. */
template <class T, int V>
static __device__ void put(tl_real *out, const tl_real (&acc)[T::TM][T::TN], const ending &end,
                           const deep_plan &a, int m0, int j, int from) {
    int plane = a.rows * a.columns;
    size_t at = (size_t)(j / plane) * a.out * plane + j % plane;
    pack<V> sum[T::TM];
#pragma unroll
    for (int i = 0; i < T::TM; i++) {
        int m = m0 + place<T::M, T::TM>(thread_m<T>(), i);
        if (m < a.out) sum[i] = read_for<V>(end, at + (size_t)m * plane);
    }
#pragma unroll
    for (int i = 0; i < T::TM; i++) {
        int m = m0 + place<T::M, T::TM>(thread_m<T>(), i);
        if (m >= a.out) continue;
        tl_real bias = bias_of(end, m);
#pragma unroll
        for (int e = 0; e < V; e++) sum[i].v[e] = finish(end, acc[i][from + e], bias, sum[i].v[e]);
        *(pack<V> *)(out + at + (size_t)m * plane) = sum[i];
    }
}

/* Block (tile, share): out[share] = the sums over its steps. */
template <class T>
static __global__ void __launch_bounds__(T::THREADS, T::BLOCKS)
    convolve(tl_real *out, const tl_real *__restrict__ in, const tl_real *__restrict__ copy,
             ending end, deep_plan a) {
    __shared__ tiles<T> s[STAGES<T>];
    int m0 = (int)blockIdx.x % a.across * T::M, j0 = (int)blockIdx.x / a.across * T::N;
    int first = (int)blockIdx.y * a.share, left = a.steps - first, count = a.n * a.rows * a.columns;
    tl_real acc[T::TM][T::TN] = {};
    sum_copied_products<T>(acc, s, deep_source<T>(a, copy, in, m0, j0, first),
                           (left < a.share ? left : a.share) * T::DEPTH);
    out += (size_t)blockIdx.y * count * a.out;
#pragma unroll
    for (int from = 0; from < T::TN; from += 4) {
        int j = j0 + place<T::N, T::TN>(thread_n<T>(), from);
        if (a.fours) {
            if (j < count) put<T, 4>(out, acc, end, a, m0, j, from);
            continue;
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (j + e < count) put<T, 1>(out, acc, end, a, m0, j + e, from + e);
    }
}

/* out = the shares in their order, ended. V divides planes. */
template <int V>
static __global__ void add_shares(tl_real *out, const tl_real *__restrict__ partial, ending end,
                                  size_t size, int plane, int channels, int shares) {
    for (size_t i = tl_thread() * V; i < size; i += tl_threads() * V) {
        pack<V> sum = {};
#pragma unroll 4
        for (int k = 0; k < shares; k++) {
            pack<V> part = *(const pack<V> *)(partial + k * size + i);
#pragma unroll
            for (int e = 0; e < V; e++) sum.v[e] += part.v[e];
        }
        pack<V> read = read_for<V>(end, i);
        tl_real bias = bias_of(end, (int)(i / plane % channels));
#pragma unroll
        for (int e = 0; e < V; e++) sum.v[e] = finish(end, sum.v[e], bias, read.v[e]);
        *(pack<V> *)(out + i) = sum;
    }
}

/* ---- launches ---- */

template <bool INPUT> static deep_plan plan_of(const tl_conv2d_geom *g) {
    deep_plan a = {};
    a.n = g->n, a.r = g->r, a.s = g->s;
    a.in = INPUT ? g->k : g->c, a.out = INPUT ? g->c : g->k;
    a.from_h = INPUT ? g->p : g->h, a.from_w = INPUT ? g->q : g->w;
    a.rows = INPUT ? g->h : g->p, a.columns = INPUT ? g->w : g->q;
    a.stride_h = INPUT ? 1 : g->stride_h, a.stride_w = INPUT ? 1 : g->stride_w;
    a.start_h = INPUT ? g->pad_h : -g->pad_h, a.start_w = INPUT ? g->pad_w : -g->pad_w;
    a.step_h = INPUT ? -g->dil_h : g->dil_h, a.step_w = INPUT ? -g->dil_w : g->dil_w;
    return a;
}

/* Launches if the copied weights, and the shares if there are several, fit in `work`. */
template <class T, bool INPUT>
static bool start(tl_ctx *ctx, tl_real *out, const tl_real *in, const tl_real *w, ending end,
                  deep_plan a, void *work, size_t reals) {
    int plane = a.rows * a.columns, along = (a.n * plane - 1) / T::N + 1;
    size_t size = (size_t)a.n * a.out * plane;
    a.across = (a.out - 1) / T::M + 1, a.pitch = a.across * T::M;
    a.steps = a.in / T::DEPTH * a.r * a.s;
    size_t weights = (size_t)a.in * a.r * a.s * a.pitch;
    if (a.in % T::DEPTH != 0 || weights > reals) return false;
    /* as many shares as a GPU holds blocks of 128 registers a thread */
    int tiles = a.across * along, shares = FULL * 256 / T::THREADS / tiles;
    if (shares > a.steps / LEAST_SHARE) shares = a.steps / LEAST_SHARE;
    if ((size_t)shares > (reals - weights) / size) shares = (int)((reals - weights) / size);
    if (shares < 1) shares = 1;
    a.share = (a.steps - 1) / shares + 1;
    shares = (a.steps - 1) / a.share + 1;
    bool fours = plane % 4 == 0 && rung_aligned(out, sizeof(pack<4>)) &&
                 rung_aligned(end.read, sizeof(pack<4>));
    a.fours = shares > 1 ? plane % 4 == 0 : fours;
    tl_real *copy = (tl_real *)work, *partial = shares > 1 ? copy + weights : out;
    order_weights<INPUT>
        <<<(unsigned)((a.in * a.pitch - 1) / TL_BLOCK + 1), TL_BLOCK, 0, tl_stream(ctx)>>>(
            copy, w, a, T::DEPTH);
    dim3 grid((unsigned)tiles, (unsigned)shares);
    convolve<T><<<grid, T::THREADS, 0, tl_stream(ctx)>>>(partial, in, copy,
                                                         shares > 1 ? ending{} : end, a);
    if (shares == 1) return true;
    auto add = fours ? add_shares<4> : add_shares<1>;
    add<<<tl_blocks(size / (fours ? 4 : 1), TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(
        out, partial, end, size, plane, a.out, shares);
    return true;
}

template <bool INPUT>
static bool start_fitting(tl_ctx *ctx, tl_real *out, const tl_real *in, const tl_real *w,
                          ending end, const tl_conv2d_geom *g, void *work) {
    deep_plan a = plan_of<INPUT>(g);
    double terms = (double)a.n * a.rows * a.columns * a.in * a.out * a.r * a.s;
    if (a.out <= 32 || terms < MANY_TERMS || (INPUT && (g->stride_h > 1 || g->stride_w > 1)))
        return false;
    size_t reals = tl_rung_conv2d_implicit_work_bytes(ctx, g) / sizeof(tl_real);
    if (fill_tall(a.out)) return start<large<128>, INPUT>(ctx, out, in, w, end, a, work, reals);
    return start<large<64>, INPUT>(ctx, out, in, w, end, a, work, reals);
}

extern "C" bool tl_rung_conv2d_deep_fwd(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                                        ending end, const tl_conv2d_geom *g, void *work) {
    return start_fitting<false>(ctx, y, x, w, end, g, work);
}

extern "C" bool tl_rung_conv2d_deep_bwd_input(tl_ctx *ctx, tl_real *dx, const tl_real *dy,
                                              const tl_real *w, ending end, const tl_conv2d_geom *g,
                                              void *work) {
    return start_fitting<true>(ctx, dx, dy, w, end, g, work);
}
