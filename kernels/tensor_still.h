/* tensor_still.h: convolutions of 3x3 by tensor cores whose weights all stay in shared memory
 * (kernels/tensor_patch.h has the squares and patches).
 *
 * What was wrong with a block for each tile: of 64 channels a tile is over after six stages, so it
 * begins and ends more than it multiplies, and brings 72 kB of weights for 26 kB of pixels. Here a
 * block has the weights once, and three warpgroups of it take square after square, each for
 * itself: while one multiplies, another stores its sums, and the next patches are on their way.
 * Nobody waits for the whole block. */
#ifndef KERNELS_TENSOR_STILL_H
#define KERNELS_TENSOR_STILL_H

#include "kernels/tensor_patch.h"

enum {
    STILL_SIDE = 64,  /* filters, at most */
    STILL_SLICES = 2, /* of channels, at most */
    STILL_TEAMS = 3,  /* warpgroups of a block */
    STILL_THREADS = 128 * STILL_TEAMS,
    STILL_BLOCKS = FULL_GPU / 2, /* one for each multiprocessor of a large GPU */
};

/* Shared memory: all weights; then for each warpgroup two patches, and a place for its sums. */
struct still_memory {
    static constexpr int TAP = STILL_SIDE * SLICE_BYTES, WEIGHTS = STILL_SLICES * 9 * TAP;
    static constexpr int SLICE = (PATCH_LINES * SLICE_BYTES + 511) / 512 * 512;
    static constexpr int PATCHES = STILL_SLICES * SLICE, SUMS = 2 * PATCHES;
    static constexpr int TEAM = SUMS + SQUARE * SQUARE * STILL_SIDE * (int)sizeof(float);
    static constexpr int BYTES = WEIGHTS + STILL_TEAMS * TEAM;
};

struct warpgroup_team {
    enum { THREADS = 128, ROWS = SQUARE * SQUARE, SQUARES = 1 };
    static __device__ int thread() { return (int)threadIdx.x % THREADS; }
    static __device__ void sync() { warpgroup_sync(); }
};

/* A warp's sums: 16 outputs of the warpgroup's square, all filters. */
struct square_sums {
    float of[STILL_SIDE / 8][4];
    static __device__ int row() { return warpgroup_team::thread() / 32 * 16; }

    template <class Put> __device__ void each(Put put) const {
        int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int j = 0; j < STILL_SIDE / 8; j++)
                put(row() + lane / 4 + 8 * half, 8 * j + lane % 4 * 2, &of[j][2 * half]);
    }
};

template <class T> static inline __host__ __device__ int still_slices(const pixels_job &job) {
    return job.channels / slice<T, STILL_SIDE, true>::DEPTH;
}

/* The warpgroup's number among all; how many there are. */
static inline __device__ int still_part() {
    return (int)blockIdx.x * STILL_TEAMS + (int)threadIdx.x / warpgroup_team::THREADS;
}
static inline int still_blocks(const pixels_job &job) {
    return least_of((job.count / (SQUARE * SQUARE) - 1) / STILL_TEAMS + 1, STILL_BLOCKS);
}

/* Weights of a block's own, where a multiprocessor has room for them. */
template <class T> static inline bool stays(const pixels_job &job) {
    int device, room = 0;
    if (!in_squares(job) || job.out > STILL_SIDE || still_slices<T>(job) > STILL_SLICES)
        return false;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           room >= still_memory::BYTES;
}

template <class T>
static inline __device__ void copy_still(const pixels_job &job, unsigned char *to) {
    typedef slice<T, STILL_SIDE, true> S;
    int lines = still_slices<T>(job) * 9 * STILL_SIDE, piece = (int)threadIdx.x % 4;
    for (int i = (int)threadIdx.x / 4; i < lines; i += STILL_THREADS / 4) {
        int filter = i % STILL_SIDE, tap = i / STILL_SIDE % 9, of = i / (9 * STILL_SIDE);
        bool there = filter < job.out;
        const T *from = (const T *)job.weights;
        if (there) from += (filter * 9 + tap) * job.channels + of * S::DEPTH + piece * S::NUMBERS;
        copy_16_async(to + (of * 9 + tap) * still_memory::TAP + S::at(filter, piece), from, there);
    }
}

/* A thread's copies: the same piece of some lines of its warpgroup's patches. How far they lie from
 * the first of a patch does not change. */
template <class T, bool INPUT> struct still_source {
    typedef slice<T, STILL_SIDE, true> S;
    static constexpr int APART = warpgroup_team::THREADS / 4;
    static constexpr int EACH = (PATCH_LINES + APART - 1) / APART;
    const pixels_job &job;
    int up, left, slices; /* of the first output a patch begins so far up and left */
    int number[EACH];

    __device__ still_source(const pixels_job &of) : job(of), slices(still_slices<T>(of)) {
        up = INPUT ? 2 - of.h.pad : of.h.pad, left = INPUT ? 2 - of.w.pad : of.w.pad;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int line = warpgroup_team::thread() / 4 + e * APART;
            number[e] = (line / PATCH * of.w.pixels + line % PATCH) * of.channels +
                        (int)threadIdx.x % 4 * S::NUMBERS;
        }
    }

    __device__ void copy(int square, unsigned char *to) const {
        square_at at(job, square);
        int piece = (int)threadIdx.x % 4, pixel = (at.n * job.h.pixels + at.h - up) * job.w.pixels;
        const T *images = (const T *)job.from;
        const T *patch = images + (ptrdiff_t)(pixel + at.w - left) * job.channels;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            int line = warpgroup_team::thread() / 4 + e * APART;
            int h = at.h - up + line / PATCH, w = at.w - left + line % PATCH;
            bool there = at.n >= 0 && lies_in(job.h, h) && lies_in(job.w, w);
            const T *from = there ? patch + number[e] : images;
            if (line >= PATCH_LINES) break;
#pragma unroll
            for (int of = 0; of < STILL_SLICES; of++)
                if (of < slices)
                    copy_16_async(to + of * still_memory::SLICE + S::at(line, piece),
                                  from + (there ? of * S::DEPTH : 0), there);
        }
    }
};

/* Adds all taps of a slice to a square's sums: its patch lies at memory + patch, and its weights at
 * memory + weights. */
template <class T, bool INPUT>
static inline __device__ void multiply_slice(square_sums &sum, const unsigned char *memory,
                                             int patch, int weights) {
#pragma unroll
    for (int tap = 0; tap < 9; tap++) {
        int line = INPUT ? (2 - tap / 3) * PATCH + 2 - tap % 3 : tap / 3 * PATCH + tap % 3;
        int b = weights + tap * still_memory::TAP;
#pragma unroll
        for (int step = 0; step < 2; step++) {
#if HAS_WARPGROUPS
            unsigned first = (unsigned)__cvta_generic_to_shared(memory);
            uint64_t lines = operand_at(first + (unsigned)(patch + line * SLICE_BYTES + step * 32),
                                        TURNED_64, 16, PATCH * SLICE_BYTES);
            uint64_t filters = step_of<T, STILL_SIDE, true>(first + (unsigned)b, 0, step);
            if constexpr (sizeof(T) == 2)
                warpgroup_bf16<false, false>(sum.of, lines, filters);
            else
                warpgroup_tf32(sum.of, lines, filters);
#else
            typedef slice<T, STILL_SIDE, true> S;
            int lane = (int)threadIdx.x % 32, row = square_sums::row() + lane % 16;
            uint32_t fa[4], fb[2][2];
            ldmatrix(fa,
                     memory + patch +
                         S::at(line + row / SQUARE * PATCH + row % SQUARE, 2 * step + lane / 16));
#pragma unroll
            for (int j = 0; j < STILL_SIDE / 8; j += 2) {
                load_b<T, STILL_SIDE, true, false>(fb, memory, b, 0, 8 * j, step);
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    if constexpr (sizeof(T) == 2)
                        mma_bf16(sum.of[j + e], fa, fb[e]);
                    else
                        mma_tf32(sum.of[j + e], fa, fb[e]);
                }
            }
#endif
        }
    }
}

template <class T, bool INPUT, class End>
static __global__ void __launch_bounds__(STILL_THREADS, 1) sum_still(pixels_job job, End end) {
    extern __shared__ __align__(1024) unsigned char memory[];
    typedef still_memory M;
    int squares = job.count / (SQUARE * SQUARE), slices = still_slices<T>(job);
    int team = (int)threadIdx.x / warpgroup_team::THREADS, own = M::WEIGHTS + team * M::TEAM;
    int patch = own, first = (int)blockIdx.x * STILL_TEAMS, far = (int)gridDim.x * STILL_TEAMS;
    copy_still<T>(job, memory);
    still_source<T, INPUT> from(job);
    from.copy(first + team, memory + patch);
    copy_commit();
    copy_wait<0>();
#if HAS_WARPGROUPS
    shared_is_written();
#endif
    __syncthreads();
    float total = 0;
    /* (as often in each warpgroup, the last of which may find that there is no such square) */
    for (; first < squares; first += far) {
        int next = own + (patch == own ? M::PATCHES : 0);
        square_sums sum = {};
#if HAS_WARPGROUPS
        warpgroup_begin();
#endif
        for (int of = 0; of < slices; of++)
            multiply_slice<T, INPUT>(sum, memory, patch + of * M::SLICE, of * 9 * M::TAP);
#if HAS_WARPGROUPS
        warpgroup_commit();
#endif
        from.copy(first + far + team, memory + next);
        copy_commit();
#if HAS_WARPGROUPS
        warpgroup_wait<0>();
#pragma unroll
        for (int j = 0; j < STILL_SIDE / 8; j++) warpgroup_sums_are_ours(sum.of[j]);
#endif
        total += end.template put<STILL_SIDE, warpgroup_team>(sum, memory + own + M::SUMS, job,
                                                              rows_of<1>(job, first + team), 0, 0);
        copy_wait<0>();
#if HAS_WARPGROUPS
        shared_is_written();
#endif
        warpgroup_sync(); /* the next patch has come, and the sums are stored */
        patch = next;
    }
    end.template put_total<STILL_SIDE, warpgroup_team>(total, still_part(), 0);
}

template <class T, bool INPUT, class End>
static tl_status sum_still_on(tl_ctx *ctx, const pixels_job &job, const End &end) {
    auto kernel = sum_still<T, INPUT, End>;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 still_memory::BYTES));
    kernel<<<(unsigned)still_blocks(job), STILL_THREADS, (size_t)still_memory::BYTES,
             tl_stream(ctx)>>>(job, end);
    TL_LAUNCHED();
    return TL_OK;
}

#endif
