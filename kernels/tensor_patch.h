/* tensor_patch.h: convolutions of 3x3 by tensor cores, all nine taps from one patch of pixels
 * (kernels/tensor_pixels.h has the job, and what becomes of the sums).
 *
 * What was wrong with a tile of outputs in a line: each tap brings its pixels anew, 128 lines for
 * 128 lines of weights, and the second-level cache gives half of what tensor cores could multiply.
 * Here a tile is two squares of 8x8 outputs. With stride 1 a square reads a patch of 10x10 pixels,
 * whatever the tap: a tap's lines are those of the patch, (r, s) further on. So a slice of channels
 * is brought once for nine taps, and a stage of the loop is the weights of three of them.
 *
 * A warpgroup has a square: 8 outputs side by side are 8 lines of the patch, one behind the other,
 * and the next 8 begin a row of the patch further on, which is what a descriptor can say. */
#ifndef KERNELS_TENSOR_PATCH_H
#define KERNELS_TENSOR_PATCH_H

#include "kernels/tensor_pixels.h"

enum {
    SQUARE = 8,                  /* outputs each way */
    TILE_SQUARES = 2,            /* of a tile */
    PATCH = SQUARE + 2,          /* pixels each way */
    PATCH_LINES = PATCH * PATCH, /* of 64 bytes, for one square */
    PATCH_ROW_TAPS = 3,          /* of a stage */
    PATCH_STAGES = 3,            /* one is multiplied while the next two come */
};

/* Shared memory: stages of weights, then the patches of two slices of channels. */
template <int SIDE> struct patch_memory {
    static constexpr int TAP = SIDE * SLICE_BYTES, STAGE = PATCH_ROW_TAPS * TAP;
    static constexpr int LINES = TILE_SQUARES * PATCH_LINES;
    static constexpr int PATCHES = (LINES * SLICE_BYTES + 1023) / 1024 * 1024;
    static constexpr int FIRST_PATCHES = PATCH_STAGES * STAGE;
    static constexpr int BYTES = FIRST_PATCHES + 2 * PATCHES;
};

struct patch_team : block_team {
    enum { SQUARES = 1 };
};

static inline bool in_squares(const pixels_job &job) {
    const axis_read &h = job.h, &w = job.w;
    return job.r == 3 && job.s == 3 && h.stride == 1 && w.stride == 1 && h.dilation == 1 &&
           w.dilation == 1 && job.high % SQUARE == 0 && job.wide % SQUARE == 0 && job.shares == 1;
}

/* A tile's rows: square by square, each row by row; a square past the last has no outputs. */
struct rows_in_squares {
    int first, second; /* -1: past the last; of windows four times the first one */
    int wide;          /* outputs, or of windows windows */
    bool windows;

    __device__ int output(int i) const {
        int begin = i < SQUARE * SQUARE ? first : second, at = i % (SQUARE * SQUARE);
        if (begin < 0) return -1;
        return windows ? begin + (at / 16 * wide + at / 4 % 4) * 4 + at % 4
                       : begin + at / SQUARE * wide + at % SQUARE;
    }
    __device__ int place(int i) const {
        int y = i / SQUARE % SQUARE, x = i % SQUARE;
        if (!windows) return i;
        return i / (SQUARE * SQUARE) * SQUARE * SQUARE + (y / 2 * 4 + x / 2) * 4 + y % 2 * 2 +
               x % 2;
    }
};

/* A square's first output. */
struct square_at {
    int n, h, w; /* n -1: past the last */
    __device__ square_at(const pixels_job &job, int square) {
        int across = job.wide / SQUARE, of_image = job.high / SQUARE * across;
        int at = square % of_image;
        n = square < job.count / (SQUARE * SQUARE) ? square / of_image : -1;
        h = at / across * SQUARE, w = at % across * SQUARE;
    }
};

/* A tile of one square or of two. */
template <int COUNT>
static inline __device__ rows_in_squares rows_of(const pixels_job &job, int tile) {
    auto first = [&](int square) {
        square_at at(job, square);
        if (at.n < 0) return -1;
        if (!job.windows) return (at.n * job.high + at.h) * job.wide + at.w;
        return ((at.n * (job.high / 2) + at.h / 2) * (job.wide / 2) + at.w / 2) * 4;
    };
    int square = tile * COUNT, wide = job.windows ? job.wide / 2 : job.wide;
    return {first(square), COUNT == 2 ? first(square + 1) : -1, wide, job.windows};
}

/* A thread's copies. */
template <class T, int SIDE, bool INPUT> struct patch_source {
    typedef slice<T, SIDE, true> B;
    typedef patch_memory<SIDE> memory_of;
    static constexpr int APART = TENSOR_THREADS / 4; /* lines between two of a thread's pieces */
    static constexpr int EACH = (memory_of::LINES + APART - 1) / APART;
    const pixels_job &job;
    const T *pixel[EACH]; /* of the next slice of channels; NULL: there is none */
    int filter[B::EACH];  /* where its weights begin; -1: past the last */
    int weight, r;        /* how far they are read; the next row of taps */

    __device__ patch_source(const pixels_job &of, int tile, int j0)
        : job(of), weight(B::piece_of() * B::NUMBERS), r(0) {
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int line = (int)threadIdx.x / 4 + e * APART, at = line % PATCH_LINES;
            square_at square(of, tile * TILE_SQUARES + line / PATCH_LINES);
            int up = INPUT ? 2 - of.h.pad : of.h.pad, left = INPUT ? 2 - of.w.pad : of.w.pad;
            int h = square.h + at / PATCH - up, w = square.w + at % PATCH - left;
            bool there =
                line < memory_of::LINES && square.n >= 0 && lies_in(of.h, h) && lies_in(of.w, w);
            size_t line_of =
                ((size_t)square.n * (size_t)of.h.pixels + (size_t)h) * (size_t)of.w.pixels +
                (size_t)w;
            pixel[e] = there ? (const T *)of.from + line_of * (size_t)of.channels +
                                   B::piece_of() * B::NUMBERS
                             : NULL;
        }
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            int to = j0 + B::line_of(e);
            filter[e] = to < of.out ? to * of.r * of.s * of.channels : -1;
        }
    }

    __device__ void copy_patches(unsigned char *to) {
        int place = B::at((int)threadIdx.x / 4, B::piece_of());
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            if ((int)threadIdx.x / 4 + e * APART >= memory_of::LINES) break;
            const T *from = pixel[e] ? pixel[e] : (const T *)job.from;
            copy_16_async(to + place + e * APART * SLICE_BYTES, from, pixel[e] != NULL);
            if (pixel[e]) pixel[e] += B::DEPTH;
        }
    }

    /* Weights of the next row of taps; after the last that of the next slice follows. */
    __device__ void copy_weights(unsigned char *to) {
        const T *weights = (const T *)job.weights + weight + r * PATCH_ROW_TAPS * job.channels;
#pragma unroll
        for (int e = 0; e < B::EACH; e++) {
            bool there = filter[e] >= 0;
            const T *from = there ? weights + filter[e] : (const T *)job.weights;
#pragma unroll
            for (int s = 0; s < PATCH_ROW_TAPS; s++)
                copy_16_async(to + s * memory_of::TAP + B::place_of(e),
                              there ? from + s * job.channels : from, there);
        }
        if (++r == 3) r = 0, weight += B::DEPTH;
    }
};

/* The tap that begins `line` lines into the patches at `a`, with its weights at `b`. */
template <class T, int SIDE>
static inline __device__ void multiply_tap(tensor_sums<SIDE> &sum, const unsigned char *memory,
                                           int a, int line, int b) {
    typedef tensor_sums<SIDE> W;
    typedef slice<T, SIDE, true> S;
    int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < 2; step++) {
        uint32_t fa[W::DOWN][4], fb[W::ACROSS / 2][2][2];
#pragma unroll
        for (int i = 0; i < W::DOWN; i++) {
            int row = W::row() + 16 * i + lane % 16, at = row % (SQUARE * SQUARE);
            int of_row = row / (SQUARE * SQUARE) * PATCH_LINES + at / SQUARE * PATCH + at % SQUARE;
            ldmatrix(fa[i], memory + a + S::at(line + of_row, 2 * step + lane / 16));
        }
#pragma unroll
        for (int j = 0; j < W::ACROSS; j += 2)
            load_b<T, SIDE, true, false>(fb[j / 2], memory, b, W::column(), 8 * j, step);
        multiply_fragments<T>(sum, fa, fb);
    }
}

#if HAS_WARPGROUPS
template <class T, int SIDE>
static inline __device__ void multiply_tap(tensor_sums<SIDE, true> &sum,
                                           const unsigned char *memory, int a, int line, int b) {
    unsigned first = (unsigned)__cvta_generic_to_shared(memory);
    int square = (int)threadIdx.x / 128;
    unsigned of_a = first + (unsigned)(a + (square * PATCH_LINES + line) * SLICE_BYTES);
#pragma unroll
    for (int step = 0; step < 2; step++) {
        uint64_t lines = operand_at(of_a + step * 32, TURNED_64, 16, PATCH * SLICE_BYTES);
        uint64_t weights = step_of<T, SIDE, true>(first + (unsigned)b, 0, step);
        if constexpr (sizeof(T) == 2)
            warpgroup_bf16<false, false>(sum.of[0], lines, weights);
        else
            warpgroup_tf32(sum.of[0], lines, weights);
    }
}
#endif

/* Sums over `slices` of channels and all taps. A stage is a row of taps; the patches of a slice
 * come with its first. */
template <class T, int SIDE, bool INPUT>
static inline __device__ void sum_by_patches(tensor_sums_of<T, SIDE, true, true, false> &sum,
                                             unsigned char *memory,
                                             patch_source<T, SIDE, INPUT> &from, int slices) {
    typedef patch_memory<SIDE> M;
    int stages = slices * 3;
    auto patches = [](int stage) { return M::FIRST_PATCHES + stage / 3 % 2 * M::PATCHES; };
    auto copy = [&](int stage) {
        if (stage < stages) {
            if (stage % 3 == 0) from.copy_patches(memory + patches(stage));
            from.copy_weights(memory + stage % PATCH_STAGES * M::STAGE);
        }
        copy_commit();
    };
    for (int stage = 0; stage < PATCH_STAGES - 1; stage++) copy(stage);
    for (int stage = 0; stage < stages; stage++) {
        int r = stage % 3, row = INPUT ? 2 - r : r;
        copy_wait<PATCH_STAGES - 2>();
#if HAS_WARPGROUPS
        shared_is_written();
#endif
        __syncthreads(); /* the stage has come, and all have multiplied the one before it */
#if HAS_WARPGROUPS
        warpgroup_begin();
#else
        copy(stage + PATCH_STAGES - 1);
#endif
#pragma unroll
        for (int s = 0; s < PATCH_ROW_TAPS; s++)
            multiply_tap<T, SIDE>(sum, memory, patches(stage), row * PATCH + (INPUT ? 2 - s : s),
                                  stage % PATCH_STAGES * M::STAGE + s * M::TAP);
#if HAS_WARPGROUPS
        warpgroup_commit();
        copy(stage + PATCH_STAGES - 1);
        warpgroup_wait<0>();
#pragma unroll
        for (int j = 0; j < SIDE / 8; j++) warpgroup_sums_are_ours(sum.of[0][j]);
#endif
    }
    copy_wait<0>();
}

template <class T, int SIDE, bool INPUT, class End>
static __global__ void __launch_bounds__(TENSOR_THREADS,
                                         1 + COPIES_ARE_ASYNC * (SIDE == 64 && !INPUT ? 2 : 1))
    sum_patches(pixels_job job, End end) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int across = (job.out - 1) / SIDE + 1, tile = (int)blockIdx.x / across;
    int j0 = (int)blockIdx.x % across * SIDE;
    patch_source<T, SIDE, INPUT> from(job, tile, j0);
    tensor_sums_of<T, SIDE, true, true, false> sum = {};
    sum_by_patches<T, SIDE, INPUT>(sum, memory, from, job.channels / slice<T, SIDE, true>::DEPTH);
    float total = end.template put<SIDE, patch_team>(sum, memory, job,
                                                     rows_of<TILE_SQUARES>(job, tile), j0, 0);
    end.template put_total<SIDE, patch_team>(total, tile, j0);
}

template <class T, int SIDE, bool INPUT, class End>
static tl_status sum_patches_on(tl_ctx *ctx, const pixels_job &job, const End &end) {
    const int bytes = patch_memory<SIDE>::BYTES;
    auto kernel = sum_patches<T, SIDE, INPUT, End>;
    unsigned tiles = (unsigned)((job.count / (SQUARE * SQUARE) - 1) / TILE_SQUARES + 1);
    tiles *= (unsigned)((job.out - 1) / SIDE + 1);
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<tiles, TENSOR_THREADS, (size_t)bytes, tl_stream(ctx)>>>(job, end);
    TL_LAUNCHED();
    return TL_OK;
}

#endif
