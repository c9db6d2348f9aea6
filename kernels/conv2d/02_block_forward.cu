/* 02_block_forward.cu: forward of rung 2. A block takes one image and some of its output channels,
 * a thread one 2x2 window of T channels: the pool is then a comparison of registers. */
#include "kernels/conv2d/02_block_window.h"

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

/* What a launch for a geometry looks like. */
typedef struct forward_plan {
    int t;
    share sh;
    plane s;
    size_t bytes; /* of shared memory */
} forward_plan;

static forward_plan plan_of(const tl_conv2d_block *block) {
    const tl_conv2d_geom *g = &block->conv;
    forward_plan a;
    a.t = channels_of_thread(g->n, g->p, g->q, g->k);
    a.sh = share_of(g->p, g->q, g->k, a.t);
    a.s = plane_of(g->p, g->q);
    a.bytes = (size_t)(g->c * a.s.size + g->c * TAPS * a.sh.groups * a.t) * sizeof(tl_real);
    return a;
}

size_t tl_rung_conv2d_block_fwd_shared(const tl_conv2d_block *block) {
    return plan_of(block).bytes;
}

tl_status tl_rung_conv2d_block_fwd(tl_ctx *ctx, tl_real *y, uint8_t *code, const tl_real *x,
                                   const tl_real *w, const tl_real *b,
                                   const tl_conv2d_block *block) {
    TL_NEED(ctx && y && x && w && b && block, TL_EINVAL,
            "conv2d_block_fwd, rung 2: ctx, y, x, w, b or the geometry is NULL");
    forward_plan a = plan_of(block);
    dim3 grid((unsigned)block->conv.n, (unsigned)a.sh.blocks);
    auto kernel = a.t == 4 ? forward<4> : a.t == 2 ? forward<2> : forward<1>;
    kernel<<<grid, (unsigned)a.sh.threads, a.bytes, tl_stream(ctx)>>>(
        y, code, x, w, b, *block, a.sh, a.s, divisors_of(block, x));
    TL_LAUNCHED();
    return TL_OK;
}
