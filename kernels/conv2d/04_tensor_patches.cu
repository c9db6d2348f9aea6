/* 04_tensor_patches.cu: dw of 3x3 in bfloat16 by tensor cores, all nine taps from one patch of
 * pixels (04_tensor_weight.cu does the others; kernels/tensor_patch.h has the idea forward).
 *
 * What was wrong with a tile of a line of taps: each tap brings its pixels anew, and so does each
 * tile of filters. Here a block has nine sums of 64 channels by 64 filters in registers, three for
 * each of three warpgroups: a row of the filter. What passes by are squares of 8x8 outputs: 64
 * lines of dy, and the patch of 10x10 pixels of x that they read, whatever the tap. 8 outputs side
 * by side are 8 lines of the patch, which is what a product takes along its sum.
 *
 * The squares are cut into shares, as many as give each multiprocessor a block. */
#include "kernels/conv2d/04_tensor.h"
#include "kernels/tensor_patch.h"

#ifndef TL_REAL_DOUBLE

enum {
    SIDE = 64, /* channels, filters of a block */
    OUTPUTS = SQUARE * SQUARE,
    LINE = SIDE * (int)sizeof(bf16),
    PIECES = LINE / 16,
    THREADS = 384,
    APART = THREADS / PIECES, /* lines between two of a thread's pieces */
    PATCH_BYTES = 13 * 1024,  /* rounded up, so that dy, too, begins at a multiple of 1,024 */
    STAGE = PATCH_BYTES + OUTPUTS * LINE,
    STAGES = 4, /* two are multiplied, two are on their way */
    AHEAD = STAGES - 2,
    BLOCKS = FULL_GPU / 2, /* one for each multiprocessor of a large GPU */
    LEAST_SQUARES = 4,     /* of a share */
};
static_assert(PATCH_LINES * LINE <= PATCH_BYTES, "no room for a patch");

typedef slice<bf16, SIDE, false> lines;

/* A thread's copies: the same piece of some lines, of a patch and of dy, square after square. How
 * far its lines lie from the first of the square does not change. */
struct square_source {
    enum { X = (PATCH_LINES + APART - 1) / APART, DY = (OUTPUTS + APART - 1) / APART };
    const weight_job &job;
    int square, end;        /* of all images; end of the share */
    int n, p, q;            /* the next one's first output */
    bool x_there, dy_there; /* the piece is not past the last channel, filter */
    int x[X], dy[DY];       /* numbers to the piece */

    __device__ square_source(const weight_job &of, int c0, int k0, int share) : job(of) {
        int piece = (int)threadIdx.x % PIECES * 8, first = (int)threadIdx.x / PIECES;
        int across = of.g.q / SQUARE, of_image = of.g.p / SQUARE * across;
        square = share * of.slices;
        end = least_of(square + of.slices, of.outputs / OUTPUTS);
        n = square / of_image, p = square % of_image / across * SQUARE;
        q = square % across * SQUARE;
        x_there = c0 + piece < of.c, dy_there = k0 + piece < of.k;
#pragma unroll
        for (int e = 0; e < X; e++) {
            int line = first + e * APART;
            x[e] = (line / PATCH * of.g.w + line % PATCH) * of.c + c0 + piece;
        }
#pragma unroll
        for (int e = 0; e < DY; e++) {
            int line = first + e * APART;
            dy[e] = (line / SQUARE * of.g.q + line % SQUARE) * of.k + k0 + piece;
        }
    }

    __device__ void copy(unsigned char *to) {
        const tl_conv2d_geom &g = job.g;
        int piece = (int)threadIdx.x % PIECES, first = (int)threadIdx.x / PIECES;
        int up = p - g.pad_h, left = q - g.pad_w;
        const bf16 *from_x = (const bf16 *)job.x, *from_dy = (const bf16 *)job.dy;
        const bf16 *patch = from_x + (ptrdiff_t)((n * g.h + up) * g.w + left) * job.c;
        const bf16 *outputs = from_dy + (size_t)((n * g.p + p) * g.q + q) * (size_t)job.k;
#pragma unroll
        for (int e = 0; e < X; e++) {
            int line = first + e * APART, h = up + line / PATCH, w = left + line % PATCH;
            bool there = x_there && (unsigned)h < (unsigned)g.h && (unsigned)w < (unsigned)g.w;
            if (line < PATCH_LINES)
                copy_16_async(to + lines::at(line, piece), there ? patch + x[e] : from_x, there);
        }
#pragma unroll
        for (int e = 0; e < DY; e++) {
            int line = first + e * APART;
            if (line < OUTPUTS)
                copy_16_async(to + PATCH_BYTES + lines::at(line, piece),
                              dy_there ? outputs + dy[e] : from_dy, dy_there);
        }
        q += SQUARE;
        if (q == g.q) q = 0, p += SQUARE;
        if (p == g.p) p = 0, n++;
    }
};

/* A warp's sums of three taps: its 16 channels, all filters. */
typedef float tap_sums[3][SIDE / 8][4];

/* The row of taps of the warpgroup, of the square at `memory` + from. */
static inline __device__ void multiply_square(tap_sums &sum, const unsigned char *memory,
                                              int from) {
    int row = (int)threadIdx.x / 128;
#if HAS_WARPGROUPS
    unsigned patch = (unsigned)__cvta_generic_to_shared(memory) + (unsigned)from;
#pragma unroll
    for (int step = 0; step < OUTPUTS / 16; step++) {
        uint64_t dy = operand_at(patch + PATCH_BYTES + step * 16 * LINE, TURNED_128, 1024, 1024);
#pragma unroll
        for (int tap = 0; tap < 3; tap++) {
            int first = (row + 2 * step) * PATCH + tap;
            uint64_t x = operand_at(patch + first * LINE, TURNED_128, 1024, PATCH * LINE);
            warpgroup_bf16<true, true>(sum[tap], x, dy);
        }
    }
#else
    int lane = (int)threadIdx.x % 32, channels = (int)threadIdx.x / 32 % 4 * 2; /* pieces */
    for (int step = 0; step < OUTPUTS / 16; step++) {
        uint32_t b[SIDE / 16][2][2];
#pragma unroll
        for (int j = 0; j < SIDE / 16; j++)
            load_b<bf16, SIDE, false, false>(b[j], memory, from + PATCH_BYTES, 0, 16 * j, step);
#pragma unroll
        for (int tap = 0; tap < 3; tap++) {
            uint32_t a[4];
            int line = (row + 2 * step + lane / 16) * PATCH + tap + lane % 8;
            ldmatrix_turned(a, memory + from + lines::at(line, channels + lane / 8 % 2));
#pragma unroll
            for (int j = 0; j < SIDE / 8; j++) mma_bf16(sum[tap][j], a, b[j / 2][j % 2]);
        }
    }
#endif
}

/* Neither the compiler nor ptxas moves what touches the sums across this. */
static inline __device__ void sums_are_ours(tap_sums &sum) {
#if HAS_WARPGROUPS
#pragma unroll
    for (int tap = 0; tap < 3; tap++)
#pragma unroll
        for (int j = 0; j < SIDE / 8; j++) warpgroup_sums_are_ours(sum[tap][j]);
#else
    (void)sum;
#endif
}

static __global__ void __launch_bounds__(THREADS, 1) sum_squares(weight_job job) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int across = (job.g.k - 1) / SIDE + 1, down = (job.c - 1) / SIDE + 1;
    int tile = (int)blockIdx.x % (across * down), share = (int)blockIdx.x / (across * down);
    int c0 = tile / across * SIDE, k0 = tile % across * SIDE;
    square_source from(job, c0, k0, share);
    tap_sums sum = {};
    int squares = from.end - from.square;
    auto copy = [&](int stage) {
        if (stage < squares) from.copy(memory + stage % STAGES * STAGE);
        copy_commit();
    };
    /* A product is waited for when the next one has been begun: tensor cores do not stand still
     * between two. So of the stage before that nobody reads any more, and its place is free. */
    for (int stage = 0; stage < AHEAD; stage++) copy(stage);
    sums_are_ours(sum); /* the zeros are there: else ptxas lets each product wait for itself */
#pragma unroll 1
    for (int stage = 0; stage < squares; stage++) {
        copy_wait<AHEAD - 1>();
#if HAS_WARPGROUPS
        shared_is_written();
#endif
        __syncthreads(); /* the stage has come, and all have multiplied the last but one */
        copy(stage + AHEAD);
#if HAS_WARPGROUPS
        warpgroup_begin();
        multiply_square(sum, memory, stage % STAGES * STAGE);
        warpgroup_commit();
        warpgroup_wait<1>();
#else
        multiply_square(sum, memory, stage % STAGES * STAGE);
#endif
    }
#if HAS_WARPGROUPS
    warpgroup_wait<0>();
#endif
    sums_are_ours(sum);
    copy_wait<0>();
    int lane = (int)threadIdx.x % 32, first = c0 + (int)threadIdx.x / 32 % 4 * 16 + lane / 4;
    float *sums = job.sums + (size_t)share * 9 * (size_t)job.c * (size_t)job.g.k;
#pragma unroll
    for (int at = 0; at < 3 * SIDE / 8 * 2; at++) { /* pairs of `sum`, one after the other */
        int tap = at / (SIDE / 8 * 2), j = at / 2 % (SIDE / 8), half = at % 2;
        int c = first + half * 8, k = k0 + j * 8 + lane % 4 * 2;
        size_t row = (size_t)((int)threadIdx.x / 128 * 3 + tap) * (size_t)job.c + (size_t)c;
        if (c < job.c) put_sums(sums + row * (size_t)job.g.k, k, &sum[tap][j][2 * half], job);
    }
}

/* Whether the last of so many channels fill at least half of their block. */
static bool fill_side(int channels) { return (channels - 1) % SIDE >= SIDE / 2 - 1; }

extern "C" bool tl_tensor_in_patches(const tl_conv2d_geom *g, tl_precision precision) {
    return precision == TL_BF16 && g->r == 3 && g->s == 3 && g->stride_h == 1 && g->stride_w == 1 &&
           g->dil_h == 1 && g->dil_w == 1 && g->p % SQUARE == 0 && g->q % SQUARE == 0 &&
           fill_side(g->c) && fill_side(g->k);
}

extern "C" int tl_tensor_patches_shares(const tl_conv2d_geom *g, int c, size_t room) {
    int tiles = ((c - 1) / SIDE + 1) * ((g->k - 1) / SIDE + 1);
    int most = g->n * (g->p / SQUARE) * (g->q / SQUARE) / LEAST_SQUARES;
    int shares = least_of(BLOCKS / tiles, most);
    while (shares > 1 && (size_t)shares * tl_tensor_weight_bytes(g, c) > room) shares /= 2;
    return shares > 1 ? shares : 1;
}

extern "C" tl_status tl_tensor_patches_sums(tl_ctx *ctx, weight_job *job) {
    const int bytes = STAGES * STAGE;
    int tiles = ((job->c - 1) / SIDE + 1) * ((job->g.k - 1) / SIDE + 1);
    job->slices = (job->outputs / OUTPUTS - 1) / job->shares + 1;
    TL_CUDA(cudaFuncSetAttribute(sum_squares, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    sum_squares<<<(unsigned)(tiles * job->shares), THREADS, (size_t)bytes, tl_stream(ctx)>>>(*job);
    TL_LAUNCHED();
    return TL_OK;
}
#endif
