/* 02_block_backward.cu: backward of rung 2: dx, dw and db in one launch, and a second that adds up.
 *
 * Both gradients start from dy and the winners' bytes. dx lays the gradient out as it was before
 * the pool and runs the forward's loop over it with the filter turned by 180 degrees; dw has no use
 * for the zeros between, and takes one product per winner and tap. */
#include "kernels/conv2d/02_block_window.h"

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

static plan backward_plan(const tl_conv2d_block *block, const tl_real *x, bool with_dx) {
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
    a.by = divisors_of(block, x);
    a.segments = a.threads / (a.channels * g->c);
    size_t sums = (size_t)(g->c * a.pixels.size + a.channels * outputs) +
                  (size_t)a.channels * outputs * sizeof(int) / sizeof(tl_real) + 1;
    size_t combined = (size_t)a.threads * (TAPS + 1);
    if (bytes < sums) bytes = sums;
    if (bytes < combined) bytes = combined;
    a.shared_bytes = bytes * sizeof(tl_real);
    return a;
}

size_t tl_rung_conv2d_block_bwd_shared(const tl_conv2d_block *block) {
    return backward_plan(block, NULL, true).shared_bytes;
}

tl_status tl_rung_conv2d_block_bwd(tl_ctx *ctx, tl_real *dx, tl_real *dw, tl_real *db,
                                   const tl_real *dy, const uint8_t *code, const tl_real *x,
                                   const tl_real *w, const tl_conv2d_block *block, bool fresh,
                                   void *work) {
    TL_NEED(ctx && dw && db && dy && code && x && w && block && work, TL_EINVAL,
            "conv2d_block_bwd, rung 2: ctx, dw, db, dy, code, x, w, the geometry or work is NULL");
    const tl_conv2d_geom *g = &block->conv;
    plan a = backward_plan(block, x, dx != NULL);
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
