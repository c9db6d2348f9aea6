/* 02_tensor_end.h: what becomes of sums on their way to memory (02_tensor.h): bias, ReLU, pool and
 * dropout forward; dropout, ReLU and pool of the layer below backward, and the sums that its bias'
 * gradient is made of. A thread has 16 bytes of T: neighbouring channels of a row. */
#ifndef NET_TENSOR_END_H
#define NET_TENSOR_END_H

#include "kernels/net/02_tensor.h"
#include "tl/cuda.h"
#include "tl/rng.h"

template <class T> struct alignas(16) piece {
    static constexpr int NUMBERS = 16 / (int)sizeof(T);
    T v[NUMBERS];
};
template <int N> struct alignas(N) codes { uint8_t v[N]; };

static inline __device__ void put_piece(float *to, const float (&v)[4]) {
    piece<float> p;
#pragma unroll
    for (int e = 0; e < 4; e++) put_rounded(&p.v[e], v[e]);
    *(piece<float> *)to = p;
}
static inline __device__ void put_piece(bf16 *to, const float (&v)[8]) {
    piece<bf16> p;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        uint32_t two = to_bf16(v[2 * e], v[2 * e + 1]);
        p.v[2 * e] = (bf16)(two & 0xffff), p.v[2 * e + 1] = (bf16)(two >> 16);
    }
    *(piece<bf16> *)to = p;
}
static inline __device__ float widened(float x) { return x; }
static inline __device__ float widened(bf16 x) { return __uint_as_float((uint32_t)x << 16); }

/* v behind the dropout, or its gradient before it. (By a call: most nets have none, and what an end
 * is made of should fit into the instruction cache.) */
template <class T, int N>
static __noinline__ __device__ pack<N> dropped(const tensor_drop drop, pack<N> v, int pixel,
                                               int channel) {
    int n = pixel / drop.plane, place = pixel % drop.plane;
    uint64_t image = (uint64_t)n * (uint64_t)drop.channels + (uint64_t)channel;
#pragma unroll 1
    for (int e = 0; e < N; e++) {
        uint64_t at = (image + (uint64_t)e) * (uint64_t)drop.plane + (uint64_t)place;
        bool kept = tl_rng_keep(drop.step->seed, drop.step->index, drop.layer, at, drop.threshold);
        v.v[e] = result<T>((kept ? v.v[e] : 0.0f) * drop.scale);
    }
    return v;
}

/* v[] = the numbers of a row, read(v, row in the tile, channel in the tile), with their bias. */
template <class T, int N, class Read>
static inline __device__ void with_bias(float (&v)[N], const Read &read, int i, int j,
                                        const float (&bias)[N]) {
    read(v, i, j);
#pragma unroll
    for (int e = 0; e < N; e++) v[e] = result<T>(v[e] + bias[e]);
}

/* The largest of a window's four rows from i on, and which that is. */
template <class T, int N, class Read>
static inline __device__ void window_of(float (&best)[N], codes<N> &winner, const Read &read, int i,
                                        int j, const float (&bias)[N], bool relu) {
    with_bias<T>(best, read, i, j, bias);
    winner = {};
    for (int corner = 1; corner < 4; corner++) {
        float v[N];
        with_bias<T>(v, read, i + corner, j, bias);
#pragma unroll
        for (int e = 0; e < N; e++)
            if (beats(v[e], best[e])) best[e] = v[e], winner.v[e] = (uint8_t)corner;
    }
#pragma unroll
    for (int e = 0; e < N; e++)
        if (relu && !(best[e] > 0)) winner.v[e] = TL_CODE_OFF;
}

template <class T, class Team, int N, class Read>
static inline __device__ void end_forward(const tensor_end &end, const Read &read, int row, int i,
                                          int j0, int j, const float (&bias)[N]) {
    float v[N];
    codes<N> winner;
    int channel = j0 + j;
    if (end.pool)
        window_of<T>(v, winner, read, i, j, bias, end.relu), row /= 4;
    else
        with_bias<T>(v, read, i, j, bias);
    size_t at = (size_t)row * (size_t)end.channels + (size_t)channel;
    pack<N> y;
#pragma unroll
    for (int e = 0; e < N; e++) y.v[e] = end.relu && v[e] < 0 ? 0 : v[e];
    if (end.drop.step) y = dropped<T>(end.drop, y, row, channel);
    if (!Team::SQUARES && end.plain) {
        for (int e = 0; e < N && channel + e < end.out; e++)
            end.plain[(size_t)row * (size_t)end.out + (size_t)(channel + e)] = y.v[e];
        return;
    }
    if (end.pool && end.winner) *(codes<N> *)(end.winner + at) = winner;
    put_piece((T *)end.to + at, y.v);
}

/* A window's gradient goes to the pixel that has won, zeros to the others, and to a last odd row or
 * column, which is in no window. */
template <class T, int N>
static inline __device__ void spread(const tensor_end &end, const float (&v)[N],
                                     const codes<N> &winner, int window, int channel) {
    int wide = end.wide / 2, row = window / wide, n = row / (end.high / 2);
    int h = row - n * (end.high / 2), w = window - row * wide;
    int first = (n * end.high + 2 * h) * end.wide + 2 * w;
    int down = 2 * h + 3 == end.high ? 3 : 2, across = 2 * w + 3 == end.wide ? 3 : 2;
    for (int r = 0; r < down; r++)
        for (int s = 0; s < across; s++) {
            size_t pixel = (size_t)(first + r * end.wide + s);
            int corner = r < 2 && s < 2 ? 2 * r + s : TL_CODE_OFF + 1;
            float one[N];
#pragma unroll
            for (int e = 0; e < N; e++) one[e] = winner.v[e] == corner ? v[e] : 0.0f;
            put_piece((T *)end.to + pixel * (size_t)end.of_pixel + (size_t)channel, one);
        }
}

/* Where a piece of dx lies in the layer below, and what its gradient has to pass there. */
template <class T> struct passage {
    int pixel, channel;
    piece<T> held;
    codes<piece<T>::NUMBERS> winner;

    __device__ size_t at(const tensor_end &end) const {
        return (size_t)pixel * (size_t)end.of_pixel + (size_t)channel;
    }
    template <class Team> __device__ void find(const tensor_end &end, int row, int of_row) {
        pixel = row, channel = of_row, held = {}, winner = {};
        if (!Team::SQUARES && end.pixels > 1) {
            int further = channel / end.of_pixel;
            pixel = pixel * end.pixels + further, channel -= further * end.of_pixel;
        }
        if (end.pool)
            winner = *(const codes<piece<T>::NUMBERS> *)(end.winner + at(end));
        else if (end.relu)
            held = *(const piece<T> *)((const T *)end.held + at(end));
    }
};

template <class T, int N>
static inline __device__ void end_input(const tensor_end &end, float (&v)[N],
                                        const passage<T> &through, float (&column)[N]) {
    pack<N> dx;
#pragma unroll
    for (int e = 0; e < N; e++) dx.v[e] = result<T>(v[e]);
    if (end.drop.step) dx = dropped<T>(end.drop, dx, through.pixel, through.channel);
#pragma unroll
    for (int e = 0; e < N; e++) {
        if (through.winner.v[e] == TL_CODE_OFF) dx.v[e] = 0;
        if (end.relu && !end.pool && !(widened(through.held.v[e]) > 0)) dx.v[e] = 0;
        column[e] += dx.v[e];
    }
    if (end.pool)
        spread<T>(end, dx.v, through.winner, through.pixel, through.channel);
    else
        put_piece((T *)end.to + through.at(end), dx.v);
}

/* A thread's pieces of dx: rows DOWN apart. Passages of two are loaded before the first is used. */
template <class T, class Team, int ROWS, int DOWN, int N, class Read, class Rows>
static inline __device__ void end_inputs(const tensor_end &end, const Read &read, const Rows &rows,
                                         int first, int j0, int j, float (&column)[N]) {
    const int EACH = ROWS / DOWN, NEAR = EACH < 2 ? EACH : 2;
    for (int i = first; i < ROWS; i += NEAR * DOWN) {
        passage<T> through[NEAR];
#pragma unroll
        for (int k = 0; k < NEAR; k++) {
            int row = rows.output(i + k * DOWN);
            if (row >= 0) through[k].template find<Team>(end, row, j0 + j);
        }
#pragma unroll
        for (int k = 0; k < NEAR; k++) {
            if (rows.output(i + k * DOWN) < 0) break;
            float v[N];
            read(v, i + k * DOWN, j);
            end_input<T>(end, v, through[k], column);
        }
    }
}

/* ROWS x SIDE sums of `rows` and channels from j0 on, by the threads of a team. Of dx columns are
 * added, which the first SIDE threads return: a thread's rows, then threads, in a fixed order;
 * `memory` has room for a piece of floats a thread, and nobody reads there any more. */
template <class T, bool INPUT, class Team, int ROWS, int SIDE, class Read, class Rows>
static inline __device__ float end_rows(const tensor_end &end, float *memory, const Rows &rows,
                                        int j0, const Read &read) {
    const int N = piece<T>::NUMBERS, ACROSS = SIDE / N, DOWN = Team::THREADS / ACROSS;
    int j = Team::thread() % ACROSS * N, first = Team::thread() / ACROSS;
    bool there = j0 + j < end.channels;
    float column[N] = {};
    if constexpr (INPUT) {
        if (there) end_inputs<T, Team, ROWS, DOWN>(end, read, rows, first, j0, j, column);
    } else {
        float bias[N];
#pragma unroll
        for (int e = 0; e < N; e++)
            bias[e] = end.bias && j0 + j + e < end.out ? result<T>(end.bias[j0 + j + e]) : 0.0f;
        int step = end.pool ? 4 : 1;
        for (int i = step * first; there && i < ROWS && rows.output(i) >= 0; i += step * DOWN)
            end_forward<T, Team>(end, read, rows.output(i), i, j0, j, bias);
    }
    float total = 0;
    if (!INPUT || !end.columns) return total;
    Team::sync();
#pragma unroll
    for (int e = 0; e < N; e++) memory[first * SIDE + j + e] = column[e];
    Team::sync();
    for (int d = 0; d < DOWN && Team::thread() < SIDE; d++)
        total += memory[d * SIDE + Team::thread()];
    return total;
}

/* The sum of a channel over a team's tiles, to its place among the parts. */
template <int SIDE, class Team>
static inline __device__ void end_total(const tensor_end &end, float total, int part, int j0) {
    int channel = j0 + Team::thread();
    if (end.columns && Team::thread() < SIDE && channel < end.channels)
        end.columns[(size_t)part * (size_t)end.channels + (size_t)channel] = total;
}

#endif
