/* 02_block.cu: 3x3 convolution, bias, ReLU and 2x2 pool in one kernel; backward in two.
 * (tl/fused.h)
 *
 * For the small nets of the course, whose layers a GPU finishes in a microsecond or two: what
 * counts is how often a kernel starts and how often a number goes through memory. No column matrix,
 * no full-size activation before the pool, no unpooled gradient: the winners' places are a byte per
 * output. Every sum has one order, given by the geometry: the same bits in every run. */
#include "kernels/rungs_cuda.h"
#include "tl/cuda.h"
#include "tl/fused.h"

enum {
    WARP = 32,
    TAPS = 9,
    THREADS = 128,           /* of a block, where windows do not ask for more */
    MOST_WINDOWS = 256,      /* 2x2 windows of one image plane: a thread each */
    SHARED_BYTES = 48 << 10, /* what every GPU gives a block without being asked */
    MANY_THREADS = 16 << 10, /* from here on a thread may take 4 output channels */
};

/* T numbers that are loaded and stored in one go. */
template <int T> struct alignas(T * sizeof(tl_real)) pack { tl_real v[T]; };

/* Division of numbers below 2^16 by one that only the host knows, as a multiplication. */
typedef struct divisor {
    unsigned by, factor;
} divisor;

static divisor divisor_of(int by) {
    divisor d = {(unsigned)by, by > 1 ? (unsigned)(((uint64_t)1 << 32) / (unsigned)by + 1) : 0};
    return d;
}

static __device__ unsigned quotient(unsigned i, const divisor &d) {
    return d.factor ? __umulhi(i, d.factor) : i;
}

/* What the kernels divide by. */
typedef struct divisors {
    divisor across, h;  /* groups of pixels in a row of x, rows of an image */
    divisor q, outputs; /* columns and size of a plane of y */
    divisor filter;     /* weights of an output channel */
} divisors;

/* A plane of pixels in shared memory with its zero border: row i, column j of the plane is pixel
 * (i - pad, j - pad) of the image. */
typedef struct plane {
    int rows, pitch, size;
} plane;

/* For threads that each read pairs of columns of their own 2x2 window. Where a row of windows is
 * shorter than half a warp, twice the pitch is that row's length (mod 32), so that the rows a warp
 * touches lie in different banks. */
static plane plane_of(int out_h, int out_w) {
    int half = (out_w + 1) / 2;
    plane s;
    s.rows = (out_h + 1) / 2 * 2 + 2;
    s.pitch = 2 * half + 2;
    while (half < WARP / 2 && s.pitch % 16 != half / 2 * 2) s.pitch += 2;
    s.size = s.rows * s.pitch;
    return s;
}

static __device__ void fill_zero(tl_real *to, int count) {
    for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) to[i] = 0;
}

/* Copies `channels` planes of h x w pixels into planes of shared memory whose borders are zero
 * already, V pixels of a row at a time. All loads of a round are on their way before the first is
 * used: a block has too few threads to hide them otherwise. */
template <int V>
static __device__ void copy_pixels(tl_real *to, const tl_real *__restrict__ from, int channels,
                                   int h, int w, int pad, plane s, int size, const divisors &by) {
    enum { ROUND = V == 4 ? 4 : 8 };
    unsigned count = (unsigned)(channels * h * w) / V;
    for (unsigned first = threadIdx.x; first < count; first += ROUND * blockDim.x) {
        pack<V> v[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            unsigned at = first + i * blockDim.x;
            if (at < count) v[i] = ((const pack<V> *)from)[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            unsigned at = first + i * blockDim.x;
            if (at >= count) break;
            unsigned row = quotient(at, by.across), column = (at - row * by.across.by) * V;
            unsigned channel = quotient(row, by.h), line = row - channel * (unsigned)h;
            tl_real *cell = to + channel * size + (line + pad) * s.pitch + column + pad;
#pragma unroll
            for (int e = 0; e < V; e++) cell[e] = v[i].v[e];
        }
    }
}

static __device__ void load_image(tl_real *to, const tl_real *from, int channels, int h, int w,
                                  int pad, plane s, int size, const divisors &by) {
    if (w % 4 == 0)
        copy_pixels<4>(to, from, channels, h, w, pad, s, size, by);
    else
        copy_pixels<1>(to, from, channels, h, w, pad, s, size, by);
}

/* Calls put(index, dy, code) for `count` outputs from `dy` and `code` on, several loads at a time.
 */
template <typename Put>
static __device__ void each_output(const tl_real *__restrict__ dy, const uint8_t *__restrict__ code,
                                   int count, Put put) {
    enum { ROUND = 8 };
    for (int first = (int)threadIdx.x; first < count; first += ROUND * (int)blockDim.x) {
        tl_real d[ROUND];
        int c[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) d[i] = dy[at], c[i] = code[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) put((unsigned)at, d[i], c[i]);
        }
    }
}

/* Calls put(index, w[index]) for `count` weights, several loads at a time. */
template <typename Put>
static __device__ void each_weight(const tl_real *__restrict__ w, int count, Put put) {
    enum { ROUND = 8 };
    for (int first = (int)threadIdx.x; first < count; first += ROUND * (int)blockDim.x) {
        tl_real v[ROUND];
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) v[i] = w[at];
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++) {
            int at = first + i * (int)blockDim.x;
            if (at < count) put((unsigned)at, v[i]);
        }
    }
}

/* Sums of T output channels over a 2x2 window: acc[t][0..3]. `image` points to the window's first
 * pixel, weight[(channel * TAPS + tap) * channels_out + t] to the weights of those channels. Each
 * of 16 pixels serves up to 9 taps of T channels, each weight 4 pixels. */
template <int T>
static __device__ void sum_window(tl_real (&acc)[T][4], const tl_real *image, const tl_real *weight,
                                  int channels, plane s, int channels_out) {
#pragma unroll 2
    for (int i = 0; i < channels; i++) {
        tl_real v[4][4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            pack<2> left = *(const pack<2> *)(image + r * s.pitch);
            pack<2> right = *(const pack<2> *)(image + r * s.pitch + 2);
            v[r][0] = left.v[0], v[r][1] = left.v[1], v[r][2] = right.v[0], v[r][3] = right.v[1];
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            const int r = tap / 3, c = tap % 3;
            pack<T> w = *(const pack<T> *)(weight + tap * channels_out);
#pragma unroll
            for (int t = 0; t < T; t++) {
                acc[t][0] += v[r][c] * w.v[t];
                acc[t][1] += v[r][c + 1] * w.v[t];
                acc[t][2] += v[r + 1][c] * w.v[t];
                acc[t][3] += v[r + 1][c + 1] * w.v[t];
            }
        }
        image += s.size;
        weight += TAPS * channels_out;
    }
}

/* How a plane of outputs is shared out: windows of 2x2 outputs, and groups of T output channels. */
typedef struct share {
    int columns, windows; /* windows of a row, of a plane */
    int groups;           /* groups of channels that a block takes */
    int blocks;           /* blocks of an image */
    int threads;          /* of a block */
} share;

static share share_of(int out_h, int out_w, int channels, int t) {
    share s;
    s.columns = (out_w + 1) / 2;
    s.windows = (out_h + 1) / 2 * s.columns;
    s.groups = s.windows < THREADS ? THREADS / s.windows : 1;
    int all = channels / t;
    if (s.groups > all) s.groups = all;
    s.blocks = (all + s.groups - 1) / s.groups;
    s.threads = (s.groups * s.windows + WARP - 1) / WARP * WARP;
    if (s.threads < THREADS) s.threads = THREADS;
    return s;
}

/* Output channels that a thread takes: 4 loads fewer numbers for each product, but leaves too few
 * threads in a small batch. The sums are the same. */
static int channels_of_thread(int n, int out_h, int out_w, int channels) {
    int windows = (out_h + 1) / 2 * ((out_w + 1) / 2);
    if (channels % 4 == 0 && (size_t)n * windows * (channels / 4) >= MANY_THREADS) return 4;
    return channels % 2 == 0 ? 2 : 1;
}

/* ---- forward ---- */

/* Whether v takes the place of best, as in max pooling: the first of equals, and a NaN, stay. */
static __device__ bool beats(tl_real v, tl_real best) { return !(v <= best) && !isnan(best); }

template <int T>
static __global__ void forward(tl_real *y, uint8_t *code, const tl_real *x, const tl_real *w,
                               const tl_real *b, tl_conv2d_block block, share sh, plane s,
                               divisors by) {
    extern __shared__ __align__(32) unsigned char shared[];
    const tl_conv2d_geom g = block.conv;
    int wide = sh.groups * T, k0 = (int)blockIdx.y * wide;
    tl_real *image = (tl_real *)shared;     /* first: its size is a multiple of 4, */
    tl_real *weight = image + g.c * s.size; /* which keeps both aligned */
    size_t n = blockIdx.x;
    unsigned rows = (unsigned)(g.c * TAPS);
    int left = g.k - k0 < wide ? g.k - k0 : wide; /* the last block may have fewer channels */
    fill_zero(image, g.c * s.size);
    each_weight(w + k0 * rows, left * (int)rows, [=](unsigned i, tl_real v) {
        unsigned k = quotient(i, by.filter);
        weight[(i - k * rows) * wide + k] = v;
    });
    __syncthreads();
    load_image(image, x + n * g.c * g.h * g.w, g.c, g.h, g.w, g.pad_h, s, s.size, by);
    __syncthreads();

    int window = (int)threadIdx.x % sh.windows, group = (int)threadIdx.x / sh.windows;
    int i = window / sh.columns, j = window % sh.columns, first = k0 + group * T;
    if (group >= sh.groups || first >= g.k) return;
    tl_real acc[T][4] = {};
    sum_window<T>(acc, image + 2 * i * s.pitch + 2 * j, weight + group * T, g.c, s, wide);

    int p = block.pool ? g.p / 2 : g.p, q = block.pool ? g.q / 2 : g.q;
#pragma unroll
    for (int t = 0; t < T; t++) {
        tl_real bias = b[first + t];
        size_t at = (n * g.k + first + t) * p * q;
        if (block.pool) {
            tl_real best = acc[t][0] + bias;
            int winner = 0;
#pragma unroll
            for (int e = 1; e < 4; e++)
                if (beats(acc[t][e] + bias, best)) best = acc[t][e] + bias, winner = e;
            if (i >= p || j >= q) continue;
            y[at + i * q + j] = best < 0 ? TL_R(0) : best;
            if (code) code[at + i * q + j] = (uint8_t)(best > 0 ? winner : (int)TL_CODE_OFF);
        } else {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int row = 2 * i + e / 2, column = 2 * j + e % 2;
                if (row >= p || column >= q) continue;
                tl_real v = acc[t][e] + bias;
                y[at + row * q + column] = v < 0 ? TL_R(0) : v;
                if (code) code[at + row * q + column] = (uint8_t)(v > 0 ? 0 : (int)TL_CODE_OFF);
            }
        }
    }
}

/* ---- backward ---- */

/* What a launch of the backward kernel does: blocks below `dx.blocks * n` make dx, the others
 * partial sums of dw and db. Neither waits for the other. */
typedef struct plan {
    share dx;
    plane gradient; /* of dx: the gradient before the pool, with its border */
    plane pixels;   /* of dw: x with its border */
    int t;
    int chunks, parts;      /* of dw: pieces of the batch, and of the output channels */
    int channels, segments; /* output channels of a part; threads that share a (k,c) pair */
    int threads;
    size_t dx_blocks, shared_bytes;
    divisors by;
} plan;

/* dx[n,c] = sum over k of the gradient, convolved with the filter turned by 180 degrees. */
template <int T>
static __device__ void input_gradient(tl_real *dx, const tl_real *dy, const uint8_t *code,
                                      const tl_real *w, const tl_conv2d_block &block, const plan &a,
                                      bool fresh, tl_real *shared) {
    const tl_conv2d_geom g = block.conv;
    int wide = a.dx.groups * T, c0 = (int)(blockIdx.x % a.dx.blocks) * wide;
    size_t n = blockIdx.x / a.dx.blocks;
    const plane s = a.gradient;
    tl_real *image = shared, *weight = image + g.k * s.size; /* in this order, as in forward */
    int left = g.c - c0 < wide ? g.c - c0 : wide;
    unsigned filters = (unsigned)(left * TAPS); /* of one output channel, side by side in w */
    fill_zero(image, g.k * s.size);
    unsigned row = (unsigned)(g.c * TAPS), skip = (unsigned)(c0 * TAPS);
    const divisors by = a.by;
    each_weight(w, g.k * (int)row, [=](unsigned i, tl_real v) {
        unsigned k = quotient(i, by.filter);
        unsigned at = i - k * row - skip; /* far too large before the first filter */
        if (at < filters) weight[(k * TAPS + TAPS - 1 - at % TAPS) * wide + at / TAPS] = v;
    });
    __syncthreads();
    int scale = block.pool ? 2 : 1, border = 2 - g.pad_h;
    unsigned p = (unsigned)(g.p / scale), q = (unsigned)(g.q / scale), outputs = p * q;
    size_t from = n * g.k * outputs;
    each_output(dy + from, code + from, g.k * (int)outputs, [=](unsigned i, tl_real d, int c) {
        if (c == TL_CODE_OFF) return;
        unsigned row = quotient(i, by.q), k = quotient(i, by.outputs);
        unsigned h = (row - k * p) * scale + c / 2 + border,
                 j = (i - row * q) * scale + c % 2 + border;
        image[k * s.size + h * s.pitch + j] = d;
    });
    __syncthreads();

    int window = (int)threadIdx.x % a.dx.windows, group = (int)threadIdx.x / a.dx.windows;
    int i = window / a.dx.columns, j = window % a.dx.columns, first = c0 + group * T;
    if (group >= a.dx.groups || first >= g.c) return;
    tl_real acc[T][4] = {};
    sum_window<T>(acc, image + 2 * i * s.pitch + 2 * j, weight + group * T, g.k, s, wide);
#pragma unroll
    for (int t = 0; t < T; t++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int row = 2 * i + e / 2, column = 2 * j + e % 2;
            if (row >= g.h || column >= g.w) continue;
            size_t at = ((n * g.c + first + t) * g.h + row) * g.w + column;
            dx[at] = fresh ? acc[t][e] : dx[at] + acc[t][e];
        }
}

/* A thread holds the nine weights of one (k,c) pair; `segments` threads share its pixels. Outputs
 * whose gradient is zero by the pool do not exist here: one product per winner and tap. */
static __device__ void weight_gradient(tl_real *partial, const tl_real *dy, const uint8_t *code,
                                       const tl_real *x, const tl_conv2d_block &block,
                                       const plan &a, tl_real *shared) {
    const tl_conv2d_geom g = block.conv;
    size_t index = blockIdx.x - a.dx_blocks;
    int chunk = (int)(index / a.parts), k0 = (int)(index % a.parts) * a.channels;
    int scale = block.pool ? 2 : 1, p = g.p / scale, q = g.q / scale, outputs = p * q;
    const plane s = a.pixels;
    tl_real *pixel = shared, *value = pixel + g.c * s.size;
    int *place = (int *)(value + a.channels * outputs); /* of the winner's patch in a plane */
    int pairs = a.channels * g.c, pair = (int)threadIdx.x % pairs;
    int segment = (int)threadIdx.x / pairs;
    int k = pair / g.c, c = pair % g.c;
    tl_real acc[TAPS] = {}, bias = 0;
    int left = g.k - k0 < a.channels ? g.k - k0 : a.channels;
    bool works = segment < a.segments && k < left;
    const divisors by = a.by;
    fill_zero(pixel, g.c * s.size);
    __syncthreads();

    int begin = (int)((size_t)g.n * chunk / a.chunks),
        end = (int)((size_t)g.n * (chunk + 1) / a.chunks);
    for (int n = begin; n < end; n++) {
        if (n > begin) __syncthreads(); /* the last image has been read */
        load_image(pixel, x + (size_t)n * g.c * g.h * g.w, g.c, g.h, g.w, g.pad_h, s, s.size, by);
        size_t from_output = ((size_t)n * g.k + k0) * outputs;
        each_output(dy + from_output, code + from_output, left * outputs,
                    [=](unsigned i, tl_real d, int e) {
                        unsigned line = quotient(i, by.q), k = quotient(i, by.outputs);
                        int row = (int)line - (int)k * p, column = (int)i - (int)line * q;
                        bool off = e == TL_CODE_OFF;
                        if (off) e = 0;
                        value[i] = off ? TL_R(0) : d;
                        place[i] = (row * scale + e / 2) * s.pitch + column * scale + e % 2;
                    });
        __syncthreads();
        if (!works) continue;
        int from = outputs * segment / a.segments, to = outputs * (segment + 1) / a.segments;
        const tl_real *plane_c = pixel + c * s.size;
#pragma unroll 2
        for (int i = from; i < to; i++) {
            tl_real d = value[k * outputs + i];
            const tl_real *patch = plane_c + place[k * outputs + i];
            bias += d;
#pragma unroll
            for (int tap = 0; tap < TAPS; tap++) acc[tap] += d * patch[tap / 3 * s.pitch + tap % 3];
        }
    }
    /* the segments of a pair are added in order */
    enum { SUMS = TAPS + 1 };
    __syncthreads();
    if (works) {
        tl_real *mine = shared + (segment * pairs + pair) * SUMS;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) mine[tap] = acc[tap];
        mine[TAPS] = bias;
    }
    __syncthreads();
    int weights = g.k * g.c * TAPS;
    tl_real *to = partial + (size_t)chunk * (weights + g.k);
    for (int i = (int)threadIdx.x; i < left * g.c * SUMS; i += (int)blockDim.x) {
        int at = i / SUMS, tap = i % SUMS;
        tl_real sum = 0;
#pragma unroll 4
        for (int e = 0; e < a.segments; e++) sum += shared[(e * pairs + at) * SUMS + tap];
        if (tap < TAPS)
            to[(k0 * g.c + at) * TAPS + tap] = sum;
        else if (at % g.c == 0)
            to[weights + k0 + at / g.c] = sum;
    }
}

template <int T>
static __global__ void backward(tl_real *dx, tl_real *partial, const tl_real *dy,
                                const uint8_t *code, const tl_real *x, const tl_real *w,
                                tl_conv2d_block block, plan a, bool fresh) {
    extern __shared__ __align__(32) unsigned char shared[];
    if (blockIdx.x < a.dx_blocks)
        input_gradient<T>(dx, dy, code, w, block, a, fresh, (tl_real *)shared);
    else
        weight_gradient(partial, dy, code, x, block, a, (tl_real *)shared);
}

/* dw and db: the chunks added in a fixed order, GROUPS runs of them at once. */
enum { GROUPS = 8 };
static __global__ void add_chunks(tl_real *__restrict__ dw, tl_real *__restrict__ db,
                                  const tl_real *__restrict__ partial, int weights, int size,
                                  int chunks) {
    __shared__ tl_real sum[GROUPS][WARP];
    int i = (int)(blockIdx.x * WARP + threadIdx.x), group = (int)threadIdx.y;
    tl_real mine = 0;
    int from = chunks * group / GROUPS, to = chunks * (group + 1) / GROUPS;
    if (i < size) {
#pragma unroll 8
        for (int k = from; k < to; k++) mine += partial[(size_t)k * size + i];
    }
    sum[group][threadIdx.x] = mine;
    __syncthreads();
    if (group > 0 || i >= size) return;
#pragma unroll
    for (int k = 1; k < GROUPS; k++) mine += sum[k][threadIdx.x];
    if (i < weights)
        dw[i] += mine;
    else
        db[i - weights] += mine;
}

/* ---- host side ---- */

static divisors divisors_of(const tl_conv2d_block *block) {
    const tl_conv2d_geom *g = &block->conv;
    int scale = block->pool ? 2 : 1, p = g->p / scale, q = g->q / scale;
    divisors d = {divisor_of(g->w % 4 == 0 ? g->w / 4 : g->w), divisor_of(g->h), divisor_of(q),
                  divisor_of(p * q), divisor_of(g->c * TAPS)};
    return d;
}

static size_t forward_bytes(const tl_conv2d_block *block, share sh, plane s, int t) {
    const tl_conv2d_geom *g = &block->conv;
    return (size_t)(g->c * s.size + g->c * TAPS * sh.groups * t) * sizeof(tl_real);
}

static plan backward_plan(const tl_conv2d_block *block, bool with_dx) {
    const tl_conv2d_geom *g = &block->conv;
    plan a = {};
    int scale = block->pool ? 2 : 1, outputs = g->p / scale * (g->q / scale);
    a.t = channels_of_thread(g->n, g->h, g->w, g->c);
    a.dx = share_of(g->h, g->w, g->c, a.t);
    a.threads = THREADS;
    size_t bytes = 0;
    if (with_dx) {
        a.gradient = plane_of(g->h, g->w);
        a.dx_blocks = (size_t)g->n * a.dx.blocks;
        a.threads = a.dx.threads;
        bytes = (size_t)(g->k * a.gradient.size + g->k * TAPS * a.dx.groups * a.t);
    }
    a.pixels.rows = g->h + 2 * g->pad_h;
    a.pixels.pitch = g->w + 2 * g->pad_w;
    a.pixels.size = a.pixels.rows * a.pixels.pitch | 1; /* odd: channels in different banks */
    a.chunks = g->n < TL_FUSED_CHUNKS ? g->n : (int)TL_FUSED_CHUNKS;
    a.channels = a.threads / g->c < g->k ? a.threads / g->c : g->k;
    if (a.channels < 1) a.channels = 1; /* does not fit: more input channels than threads */
    /* fewer output channels to a block, until there are enough blocks for a large GPU */
    while (a.channels > 1 && a.chunks * ((g->k + a.channels - 1) / a.channels) < TL_FUSED_CHUNKS)
        a.channels = (a.channels + 1) / 2;
    a.parts = (g->k + a.channels - 1) / a.channels;
    a.by = divisors_of(block);
    a.segments = a.threads / (a.channels * g->c);
    size_t sums = (size_t)(g->c * a.pixels.size + a.channels * outputs) +
                  (size_t)a.channels * outputs * sizeof(int) / sizeof(tl_real) + 1;
    size_t combined = (size_t)a.threads * (TAPS + 1);
    if (bytes < sums) bytes = sums;
    if (bytes < combined) bytes = combined;
    a.shared_bytes = bytes * sizeof(tl_real);
    return a;
}

static bool fits(const tl_conv2d_block *block) {
    const tl_conv2d_geom *g = &block->conv;
    if (g->r != 3 || g->s != 3 || g->stride_h != 1 || g->stride_w != 1) return false;
    if (g->dil_h != 1 || g->dil_w != 1 || g->pad_h > 2 || g->pad_h != g->pad_w) return false;
    if (block->pool && (g->p < 2 || g->q < 2)) return false;
    if ((g->p + 1) / 2 * ((g->q + 1) / 2) > MOST_WINDOWS) return false;
    /* what is divided by multiplication */
    enum { MOST = 1 << 16 };
    if (g->c * g->h * g->w >= MOST || g->k * g->p * g->q >= MOST || g->k * g->c * TAPS >= MOST)
        return false;
    if ((g->h + 1) / 2 * ((g->w + 1) / 2) > MOST_WINDOWS || g->c > THREADS) return false;
    int t = channels_of_thread(g->n, g->p, g->q, g->k);
    share sh = share_of(g->p, g->q, g->k, t);
    return forward_bytes(block, sh, plane_of(g->p, g->q), t) <= SHARED_BYTES &&
           backward_plan(block, true).shared_bytes <= SHARED_BYTES;
}

static tl_status block_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                           const tl_real *w, const tl_real *b, const tl_conv2d_block *block) {
    const tl_conv2d_geom *g = &block->conv;
    int t = channels_of_thread(g->n, g->p, g->q, g->k);
    share sh = share_of(g->p, g->q, g->k, t);
    plane s = plane_of(g->p, g->q);
    dim3 grid((unsigned)g->n, (unsigned)sh.blocks);
    size_t bytes = forward_bytes(block, sh, s, t);
    auto kernel = t == 4 ? forward<4> : t == 2 ? forward<2> : forward<1>;
    kernel<<<grid, (unsigned)sh.threads, bytes, tl_stream(ctx)>>>(y, code, x, w, b, *block, sh, s,
                                                                  divisors_of(block));
    TL_LAUNCHED();
    return TL_OK;
}

static tl_status block_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db, const tl_real *dy,
                           const uint8_t *code, const tl_real *x, const tl_real *w,
                           const tl_conv2d_block *block, bool fresh, void *work) {
    const tl_conv2d_geom *g = &block->conv;
    plan a = backward_plan(block, dx != NULL);
    tl_real *partial = (tl_real *)work;
    unsigned blocks = (unsigned)(a.dx_blocks + (size_t)a.chunks * a.parts);
    auto kernel = a.t == 4 ? backward<4> : a.t == 2 ? backward<2> : backward<1>;
    kernel<<<blocks, (unsigned)a.threads, a.shared_bytes, tl_stream(ctx)>>>(dx, partial, dy, code,
                                                                            x, w, *block, a, fresh);
    TL_LAUNCHED();
    int weights = g->k * g->c * TAPS, size = weights + g->k;
    add_chunks<<<(unsigned)((size + WARP - 1) / WARP), dim3(WARP, GROUPS), 0, tl_stream(ctx)>>>(
        dw, db, partial, weights, size, a.chunks);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_conv2d_block(tl_backend *ops) {
    ops->conv2d_block_fits = fits;
    ops->conv2d_block_fwd = block_fwd;
    ops->conv2d_block_bwd = block_bwd;
}
