/* tensor_tile.h: a tile of sums by tensor cores, its factors in shared memory (kernels/mma.h).
 *
 * A block of 256 threads makes 128 x SIDE sums[i][j] = sum over k of a[i][k] * b[j][k], SIDE 64 or
 * 128, in slices of 64 bytes along k: 32 numbers of bfloat16, 16 of TF32. A warp has 32 columns,
 * and 64 or 32 rows; a slice is two steps of an mma. Where warpgroups multiply (warpgroup.h), a
 * warp has 16 rows and all columns.
 *
 * An operand's slice lies in shared memory in the order in which memory has it: ALONG_K as lines of
 * 64 bytes, one for each i, else as lines of numbers, one for each k: 64 of bfloat16, a panel
 * behind the other, or of TF32 128 or SIDE. Pieces of 16 bytes change places within a line, by the
 * line's number, so that the 8 lines that an ldmatrix reads, and the 4 that are read number by
 * number, lie in different banks; none is empty. */
#ifndef KERNELS_TENSOR_TILE_H
#define KERNELS_TENSOR_TILE_H

#include "kernels/device.h"
#include "kernels/mma.h"
#include "kernels/warpgroup.h"

typedef uint16_t bf16; /* its bits; TF32 is kept as float */

enum {
    TENSOR_ROWS = 128,    /* of a block's tile */
    TENSOR_THREADS = 256, /* of a block */
    SLICE_BYTES = 64,     /* of a line along k */
};

/* T: bf16 or float. SIDE: lines of the operand, across k. */
template <class T, int SIDE, bool ALONG_K> struct slice {
    static constexpr int NUMBERS = 16 / (int)sizeof(T);         /* of a piece */
    static constexpr int DEPTH = SLICE_BYTES / (int)sizeof(T);  /* numbers along k */
    static constexpr int PIECES = ALONG_K ? 4 : SIDE / NUMBERS; /* of a line */
    static constexpr int BYTES = SIDE * SLICE_BYTES;
    static constexpr int EACH = BYTES / 16 / TENSOR_THREADS; /* pieces of a thread */

    static constexpr int PANEL = !ALONG_K && sizeof(T) == 2 ? 8 : PIECES; /* pieces of its lines */
    static constexpr int PANEL_BYTES = PANEL * 16 * DEPTH;

    /* Where a piece lies, in bytes. */
    static __device__ int at(int line, int piece) {
        int turn = ALONG_K ? line / 2 % 4 : sizeof(T) == 2 ? line % 8 : line % 4 * 2;
        return piece / PANEL * PANEL_BYTES + (line * PANEL + (piece % PANEL ^ turn)) * 16;
    }
    /* The thread's e-th piece: neighbours side by side. */
    static __device__ int line_of(int e) {
        return ((int)threadIdx.x + e * TENSOR_THREADS) / PIECES;
    }
    static __device__ int piece_of() { return (int)threadIdx.x % PIECES; }
    /* Where that lies: lines that are so far apart turn their pieces alike. */
    static __device__ int place_of(int e) {
        return at(line_of(0), piece_of()) + e * (TENSOR_THREADS / PIECES) * PANEL * 16;
    }
};

/* What shared memory holds where copies pass the registers by: STAGES times DEEP slices, which are
 * asked for and multiplied together. */
template <class T, int SIDE, int DEEP = 1> struct stage_of {
    static constexpr int STAGES = DEEP == 1 ? 5 : 3;
    static constexpr int SLICE = (TENSOR_ROWS + SIDE) * SLICE_BYTES; /* of both operands */
    static constexpr int BYTES = DEEP * SLICE, MEMORY = STAGES * BYTES;
};

/* A number of TF32 across k, which ROUND says is not rounded yet: lane / 4 + `on` behind i0, which
 * is a warp's first, on line lane % 4 + `line`. `from` is a multiple of 128 and i0 of 32, so what
 * `on` adds to a piece's number is a bit that turns, or one above: all places of a lane are one,
 * with some bits turned, and none is kept in a register from slice to slice. */
template <int SIDE, bool ROUND>
static inline __device__ uint32_t tf32_at(const unsigned char *memory, int from, int i0, int on,
                                          int line) {
    typedef slice<float, SIDE, false> S;
    int lane = (int)threadIdx.x % 32, piece = on / 4;
    int place = from + S::at(lane % 4, i0 / 4 + lane / 16) + lane / 4 % 4 * 4;
    place = (place ^ piece % 8 * 16) + piece / 8 * 128 + line * S::PIECES * 16;
    float x = *(const float *)(memory + place);
    return ROUND ? to_tf32(x) : __float_as_uint(x);
}

/* The slice lies at memory + from. The fragment of A from row i0 + `on` on, i0 being a warp's
 * first, in step `step` of the slice; of ROUND all is rounded. */
template <class T, int SIDE, bool ALONG_K, bool ROUND>
static inline __device__ void load_a(uint32_t (&a)[4], const unsigned char *memory, int from,
                                     int i0, int on, int step) {
    typedef slice<T, SIDE, ALONG_K> S;
    int lane = (int)threadIdx.x % 32;
    if constexpr (ALONG_K) {
        ldmatrix(a, memory + from + S::at(i0 + on + lane % 16, 2 * step + lane / 16));
        if constexpr (ROUND)
            for (int i = 0; i < 4; i++) a[i] = to_tf32(__uint_as_float(a[i]));
    } else if constexpr (sizeof(T) == 2) {
        int line = step * 16 + lane % 8 + lane / 16 * 8;
        ldmatrix_turned(a, memory + from + S::at(line, (i0 + on) / 8 + lane / 8 % 2));
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[i] = tf32_at<SIDE, ROUND>(memory, from, i0, on + i % 2 * 8, step * 8 + i / 2 * 4);
    }
}

/* The fragments of B from columns j0 + `on` and 8 more on. */
template <class T, int SIDE, bool ALONG_K, bool ROUND>
static inline __device__ void load_b(uint32_t (&b)[2][2], const unsigned char *memory, int from,
                                     int j0, int on, int step) {
    typedef slice<T, SIDE, ALONG_K> S;
    int lane = (int)threadIdx.x % 32;
    uint32_t r[4];
    if constexpr (ALONG_K) {
        int column = j0 + on + lane % 8 + lane / 16 * 8;
        ldmatrix(r, memory + from + S::at(column, 2 * step + lane / 8 % 2));
        if constexpr (ROUND)
            for (int i = 0; i < 4; i++) r[i] = to_tf32(__uint_as_float(r[i]));
    } else if constexpr (sizeof(T) == 2) {
        ldmatrix_turned(r, memory + from + S::at(step * 16 + lane % 16, (j0 + on) / 8 + lane / 16));
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            r[i] = tf32_at<SIDE, ROUND>(memory, from, j0, on + i / 2 * 8, step * 8 + i % 2 * 4);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) b[i / 2][i % 2] = r[i];
}

/* A float that is multiplied as the sum of two numbers of TF32 (TL_TF32X3). */
struct two_tf32 {
    float x;
};
template <class T> static constexpr bool IS_SPLIT = false;
template <> constexpr bool IS_SPLIT<two_tf32> = true;

/* Whether warpgroups multiply: numbers that are rounded already, TF32 only if both run along k. */
template <class T, bool A_ALONG_K, bool B_ALONG_K, bool ROUND>
static constexpr bool BY_WARPGROUP =
    HAS_WARPGROUPS && !ROUND && !IS_SPLIT<T> && (sizeof(T) == 2 || (A_ALONG_K && B_ALONG_K));

/* A warp's sums: fragments down and across. */
template <int SIDE, bool WARPGROUP = false> struct tensor_sums {
    static constexpr int WARPS_ACROSS = WARPGROUP ? 1 : SIDE / 32;
    static constexpr int DOWN = WARPGROUP ? 1 : SIDE / 32, ACROSS = SIDE / 8 / WARPS_ACROSS;
    float of[DOWN][ACROSS][4];
    static __device__ int row() { return (int)threadIdx.x / 32 / WARPS_ACROSS * DOWN * 16; }
    static __device__ int column() { return (int)threadIdx.x / 32 % WARPS_ACROSS * ACROSS * 8; }

    /* put(i, j, two sums): those of columns j and j + 1, which is even. */
    template <class Put> __device__ void each(Put put) const {
        int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < DOWN; i++)
#pragma unroll
            for (int half = 0; half < 2; half++)
#pragma unroll
                for (int j = 0; j < ACROSS; j++)
                    put(row() + 16 * i + lane / 4 + 8 * half, column() + 8 * j + lane % 4 * 2,
                        &of[i][j][2 * half]);
    }
};

/* The sums of sum_by_tensor_cores with these arguments. */
template <class T, int SIDE, bool A_ALONG_K, bool B_ALONG_K, bool ROUND>
using tensor_sums_of = tensor_sums<SIDE, BY_WARPGROUP<T, A_ALONG_K, B_ALONG_K, ROUND>>;

template <class T, int SIDE>
static inline __device__ void
multiply_fragments(tensor_sums<SIDE> &sum, const uint32_t (&a)[tensor_sums<SIDE>::DOWN][4],
                   const uint32_t (&b)[tensor_sums<SIDE>::ACROSS / 2][2][2]) {
#pragma unroll
    for (int i = 0; i < tensor_sums<SIDE>::DOWN; i++)
#pragma unroll
        for (int j = 0; j < tensor_sums<SIDE>::ACROSS; j++) {
            if constexpr (sizeof(T) == 2)
                mma_bf16(sum.of[i][j], a[i], b[j / 2][j % 2]);
            else
                mma_tf32(sum.of[i][j], a[i], b[j / 2][j % 2]);
        }
}

/* Slices at memory + a and memory + b. */
template <class T, int SIDE, bool A_ALONG_K, bool B_ALONG_K, bool ROUND>
static inline __device__ void multiply_step(tensor_sums<SIDE> &sum, const unsigned char *memory,
                                            int a, int b, int step) {
    typedef tensor_sums<SIDE> W;
    uint32_t fa[W::DOWN][4], fb[W::ACROSS / 2][2][2];
#pragma unroll
    for (int i = 0; i < W::DOWN; i++)
        load_a<T, TENSOR_ROWS, A_ALONG_K, ROUND>(fa[i], memory, a, W::row(), 16 * i, step);
#pragma unroll
    for (int j = 0; j < W::ACROSS; j += 2)
        load_b<T, SIDE, B_ALONG_K, ROUND>(fb[j / 2], memory, b, W::column(), 8 * j, step);
    multiply_fragments<T>(sum, fa, fb);
}

/* What a number of a fragment is in TF32, which it becomes, and what is left of it. */
template <int N> static inline __device__ void split(uint32_t (&high)[N], uint32_t (&low)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        float x = __uint_as_float(high[i]);
        high[i] = to_tf32(x);
        low[i] = to_tf32(x - __uint_as_float(high[i]));
    }
}

/* The same of two_tf32: small products first, so that they add to each other's size. */
template <int SIDE, bool A_ALONG_K, bool B_ALONG_K>
static inline __device__ void
multiply_split_step(tensor_sums<SIDE> &sum, const unsigned char *memory, int a, int b, int step) {
    typedef tensor_sums<SIDE> W;
    uint32_t fb[W::ACROSS / 2][2][2], low_b[W::ACROSS / 2][2][2];
#pragma unroll
    for (int j = 0; j < W::ACROSS; j += 2) {
        load_b<float, SIDE, B_ALONG_K, false>(fb[j / 2], memory, b, W::column(), 8 * j, step);
        split(fb[j / 2][0], low_b[j / 2][0]);
        split(fb[j / 2][1], low_b[j / 2][1]);
    }
#pragma unroll
    for (int i = 0; i < W::DOWN; i++) {
        uint32_t fa[4], low_a[4];
        load_a<float, TENSOR_ROWS, A_ALONG_K, false>(fa, memory, a, W::row(), 16 * i, step);
        split(fa, low_a);
#pragma unroll
        for (int j = 0; j < W::ACROSS; j++) {
            mma_tf32(sum.of[i][j], low_a, fb[j / 2][j % 2]);
            mma_tf32(sum.of[i][j], fa, low_b[j / 2][j % 2]);
            mma_tf32(sum.of[i][j], fa, fb[j / 2][j % 2]);
        }
    }
}

#if HAS_WARPGROUPS
/* Where step `step` of a slice lies that begins at `address`, from line or panel `part` of 64
 * on. */
template <class T, int SIDE, bool ALONG_K>
static inline __device__ uint64_t step_of(unsigned address, int part, int step) {
    typedef slice<T, SIDE, ALONG_K> S;
    if constexpr (ALONG_K)
        return operand_at(address + part * 64 * SLICE_BYTES + step * 32, TURNED_64, 16, 512);
    else
        return operand_at(address + part * S::PANEL_BYTES + step * 16 * 128, TURNED_128,
                          S::PANEL_BYTES, 1024);
}

/* A slice at `address`, by the block's two warpgroups. */
template <class T, int SIDE, bool A_ALONG_K, bool B_ALONG_K>
static inline __device__ void multiply_by_warpgroup(tensor_sums<SIDE, true> &sum,
                                                    unsigned address) {
    unsigned b = address + TENSOR_ROWS * SLICE_BYTES;
    int warpgroup = (int)threadIdx.x / 128;
#pragma unroll
    for (int step = 0; step < 2; step++) {
        uint64_t of_a = step_of<T, TENSOR_ROWS, A_ALONG_K>(address, warpgroup, step);
        uint64_t of_b = step_of<T, SIDE, B_ALONG_K>(b, 0, step);
        if constexpr (sizeof(T) == 2)
            warpgroup_bf16<!A_ALONG_K, !B_ALONG_K>(sum.of[0], of_a, of_b);
        else
            warpgroup_tf32(sum.of[0], of_a, of_b);
    }
}
#endif

/* Sums over all slices, which DEEP divides. from.copy<DEEP>(a, b, apart, s) starts the thread's
 * copies of slices s to s + DEEP - 1 to shared memory, each `apart` bytes from the one before,
 * zeros for what lies outside; slices are asked for in order. All but one of the stages are on
 * their way while that one is multiplied. (Before compute capability 8.0, and on hostcuda, a copy
 * is done at once.) */
template <class T, int SIDE, bool A_ALONG_K, bool B_ALONG_K, bool ROUND, int DEEP, class Source>
static inline __device__ void
sum_by_tensor_cores(tensor_sums_of<T, SIDE, A_ALONG_K, B_ALONG_K, ROUND> &sum,
                    unsigned char *memory, Source &from, int slices) {
    typedef stage_of<T, SIDE, DEEP> S;
    const int a_bytes = TENSOR_ROWS * SLICE_BYTES;
    int stages = slices / DEEP;
    auto copy = [&](int stage) {
        unsigned char *to = memory + stage % S::STAGES * S::BYTES;
        if (stage < stages) from.template copy<DEEP>(to, to + a_bytes, S::SLICE, stage * DEEP);
        copy_commit();
    };
    for (int stage = 0; stage < S::STAGES - 1; stage++) copy(stage);
    for (int stage = 0; stage < stages; stage++) {
        int now = stage % S::STAGES * S::BYTES;
        copy_wait<S::STAGES - 2>();
#if HAS_WARPGROUPS
        if constexpr (BY_WARPGROUP<T, A_ALONG_K, B_ALONG_K, ROUND>) {
            shared_is_written();
            __syncthreads(); /* the stage has come, and all have multiplied the one before it */
            warpgroup_begin();
#pragma unroll
            for (int slice = 0; slice < DEEP; slice++)
                multiply_by_warpgroup<T, SIDE, A_ALONG_K, B_ALONG_K>(
                    sum, (unsigned)__cvta_generic_to_shared(memory) +
                             (unsigned)(now + slice * S::SLICE));
            warpgroup_commit();
            copy(stage + S::STAGES - 1);
            warpgroup_wait<0>();
#pragma unroll
            for (int j = 0; j < SIDE / 8; j++) warpgroup_sums_are_ours(sum.of[0][j]);
            continue;
        } else
#endif
        {
            __syncthreads();
            copy(stage + S::STAGES - 1);
#pragma unroll
            for (int step = 0; step < 2 * DEEP; step++) {
                int a = now + step / 2 * S::SLICE, b = a + a_bytes;
                if constexpr (IS_SPLIT<T>)
                    multiply_split_step<SIDE, A_ALONG_K, B_ALONG_K>(sum, memory, a, b, step % 2);
                else
                    multiply_step<T, SIDE, A_ALONG_K, B_ALONG_K, ROUND>(sum, memory, a, b,
                                                                        step % 2);
            }
        }
    }
    copy_wait<0>();
}

#endif
