/* 03_implicit_tile.h: the loop of rung 3: a tile of sums in registers, its factors in shared
 * memory.
 *
 * Forward, dx and dw are all sums[m,n] = sum over l of a[m,l] * b[n,l], with l counting taps or
 * outputs. What differs is where a and b come from: a Source knows, and this loop asks it. */
#ifndef CONV2D_IMPLICIT_TILE_H
#define CONV2D_IMPLICIT_TILE_H

#include "kernels/conv2d/03_implicit.h"
#include "kernels/device.h"

/* A block makes M x N sums, each thread TM x TN of them; a step adds DEPTH products to each. */
template <int M_, int N_, int DEPTH_, int TM_, int TN_> struct tiling {
    static constexpr int M = M_, N = N_, DEPTH = DEPTH_, TM = TM_, TN = TN_;
    static constexpr int ACROSS = N / TN, THREADS = M / TM * ACROSS;
    static constexpr int BLOCKS = 512 / THREADS; /* of a multiprocessor: 128 registers a thread */
    static constexpr int A_LOADS = M * DEPTH / THREADS, B_LOADS = N * DEPTH / THREADS;
    /* rows of a step lie apart by a little more, or those who store a column meet in one bank */
    static constexpr int A_PITCH = M + 4, B_PITCH = N + 4;
    /* threads of a warp side by side: 8 x 4 of them read one row of shared memory in two goes */
    static constexpr int SIDE = TN >= 4 && M / TM >= 4 ? 8 : ACROSS < 32 ? ACROSS : 32;
    static_assert(A_LOADS * THREADS == M * DEPTH && B_LOADS * THREADS == N * DEPTH, "whole loads");
};

/* The large tiles, of 64 or 128 channels. In double their sums would not fit in registers. */
static constexpr bool WIDE = sizeof(tl_real) == sizeof(float);
template <int M>
using large = tiling<WIDE ? M : 64, WIDE ? 128 : 64, WIDE ? 8 : 16, WIDE ? 8 : 4, WIDE ? 8 : 4>;
/* Whether tiles of 128 channels waste less than half of the last one. */
static inline bool fill_tall(int channels) { return (channels - 1) % 128 >= 64; }

/* a and b of one step, transposed: a thread reads neighbours of m or n at once. */
template <class T> struct tiles {
    alignas(32) tl_real a[T::DEPTH * T::A_PITCH];
    alignas(32) tl_real b[T::DEPTH * T::B_PITCH];
};

/* Puts a thread's share of a step into the tiles, where threads side by side have neighbours in l:
 * each has one l and every (THREADS / DEPTH)-th line of a and of b. */
template <class T>
static inline __device__ void store_lines(tiles<T> &to, const tl_real (&a)[T::A_LOADS],
                                          const tl_real (&b)[T::B_LOADS]) {
    const int at_once = T::THREADS / T::DEPTH;
    int l = (int)threadIdx.x % T::DEPTH, line = (int)threadIdx.x / T::DEPTH;
#pragma unroll
    for (int i = 0; i < T::A_LOADS; i++) to.a[l * T::A_PITCH + line + i * at_once] = a[i];
#pragma unroll
    for (int i = 0; i < T::B_LOADS; i++) to.b[l * T::B_PITCH + line + i * at_once] = b[i];
}

/* What `read` has in the places of V sums, at offset `at`; zeros where nobody asks. */
template <int V> static inline __device__ pack<V> read_for(const ending &end, size_t at) {
    return end.how >= END_ADD ? *(const pack<V> *)(end.read + at) : pack<V>{};
}

static inline __device__ tl_real bias_of(const ending &end, int channel) {
    return end.how < END_ADD && end.b ? end.b[channel] : TL_R(0);
}

/* A sum, ended. */
static inline __device__ tl_real finish(const ending &end, tl_real sum, tl_real bias,
                                        tl_real read) {
    sum += end.how == END_ADD ? read : bias; /* (where there is neither: 0, and so no -0) */
    if (end.how == END_RELU) return sum < 0 ? TL_R(0) : sum;
    return end.how == END_MASK && !(read > 0) ? TL_R(0) : sum;
}

/* Of SIZE numbers thread `at` takes COUNT: up to four neighbours, then as many a good way on, so
 * that the threads of a warp read one piece of memory. Where its i-th lies: */
template <int COUNT> constexpr int GROUP = COUNT < 4 ? COUNT : 4;
template <int SIZE, int COUNT> static inline __device__ int place(int at, int i) {
    const int group = GROUP<COUNT>;
    return i / group * (SIZE / (COUNT / group)) + at * group + i % group;
}

/* A thread's place among those that share the sums. */
template <class T> static inline __device__ int thread_m() {
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    return warp / (T::ACROSS / T::SIDE) * (32 / T::SIDE) + lane / T::SIDE;
}
template <class T> static inline __device__ int thread_n() {
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    return warp % (T::ACROSS / T::SIDE) * T::SIDE + lane % T::SIDE;
}

template <int SIZE, int COUNT>
static inline __device__ void take(tl_real (&v)[COUNT], const tl_real *row, int at) {
    const int group = GROUP<COUNT>;
#pragma unroll
    for (int i = 0; i < COUNT; i += group) {
        pack<group> p = *(const pack<group> *)(row + place<SIZE, COUNT>(at, i));
#pragma unroll
        for (int e = 0; e < group; e++) v[i + e] = p.v[e];
    }
}

template <class T>
static inline __device__ void multiply(tl_real (&acc)[T::TM][T::TN], const tiles<T> &s) {
    int ty = thread_m<T>(), tx = thread_n<T>();
#pragma unroll
    for (int l = 0; l < T::DEPTH; l++) {
        tl_real a[T::TM], b[T::TN];
        take<T::M, T::TM>(a, s.a + l * T::A_PITCH, ty);
        take<T::N, T::TN>(b, s.b + l * T::B_PITCH, tx);
#pragma unroll
        for (int i = 0; i < T::TM; i++)
#pragma unroll
            for (int j = 0; j < T::TN; j++) acc[i][j] += a[i] * b[j];
    }
}

/* Sums over 0 .. depth-1. A Source that PREPARES works out in prepare(l) where the next WINDOW of l
 * lie, in shared memory; fetch() loads a thread's share of a step into registers, store() puts it
 * into the tiles. The loads of the next step are on their way while this one is multiplied; two
 * tiles take turns, so that one barrier a step is enough. */
template <class T, class Source>
static inline __device__ void sum_products(tl_real (&acc)[T::TM][T::TN], tiles<T> (&s)[2],
                                           Source from, int depth) {
    static_assert(WINDOW % T::DEPTH == 0, "a step lies in one window");
    tl_real a[T::A_LOADS], b[T::B_LOADS];
    if constexpr (Source::PREPARES) {
        from.prepare(0);
        __syncthreads();
    }
    from.fetch(a, b, 0);
    for (int l = 0, turn = 0; l < depth; l += T::DEPTH, turn ^= 1) {
        from.store(s[turn], a, b);
        __syncthreads();
        int next = l + T::DEPTH;
        if (next < depth) {
            if constexpr (Source::PREPARES) {
                if (next % WINDOW == 0) { /* all have fetched what the last window was for */
                    from.prepare(next);
                    __syncthreads();
                }
            }
            from.fetch(a, b, next);
        }
        multiply<T>(acc, s[turn]);
    }
}

/* The same for sources that copy: copy() starts a thread's copies of the next step, which pass the
 * registers by, and zeros past the end. Steps are asked for in order, and all but one of the STAGES
 * are on their way while one is multiplied. (GPUs before compute capability 8.0 wait for each.) */
template <class T> constexpr int STAGES = 4 * sizeof(tiles<T>) <= 48 << 10 ? 4 : 2;

template <class T, class Source>
static inline __device__ void sum_copied_products(tl_real (&acc)[T::TM][T::TN],
                                                  tiles<T> (&s)[STAGES<T>], Source from,
                                                  int depth) {
    static_assert(WINDOW % T::DEPTH == 0, "a step lies in one window");
    const int ahead = STAGES<T> - 1;
    auto copy = [&](int step) {
        int l = step * T::DEPTH;
        if constexpr (Source::PREPARES) {
            if (l < depth && l % WINDOW == 0) { /* the barrier: all have copied the last window */
                from.prepare(l);
                __syncthreads();
            }
        }
        if (l < depth) from.copy(s[step % STAGES<T>], l);
        copy_commit();
    };
    for (int i = 0; i < ahead; i++) copy(i);
    for (int i = 0; i * T::DEPTH < depth; i++) {
        copy_wait<STAGES<T> - 2>();
        __syncthreads(); /* step i has come, and all have multiplied the step before it */
        copy(i + ahead);
        multiply<T>(acc, s[i % STAGES<T>]);
    }
}

#endif
