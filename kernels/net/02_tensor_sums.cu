/* 02_tensor_sums.cu: the products of a net, forward and of dx (02_tensor.h).
 *
 * A tile's sums go through shared memory, where the slices were, so that a thread has neighbouring
 * channels of a row, whatever fragments they come from; then what follows the product is done to
 * them. Where tiles are too few for a GPU, several blocks share the slices of one, and leave their
 * sums; a second kernel adds them in the order of the shares, and goes on in the same way. */
#include "kernels/net/02_tensor_end.h"
#include "kernels/tensor_products.h"

#ifndef TL_REAL_DOUBLE

/* Where float [i][j] of a tile lies: units of 8 change places within a row, by its number, so that
 * the four rows that half a warp writes lie in different banks. */
template <int SIDE> static inline __device__ int place_of(int i, int j) {
    return i * SIDE + ((j / 8 ^ i % 4) * 8 + j % 8);
}

template <class T, bool INPUT> struct to_pixels {
    tensor_end end;

    template <int SIDE, class Team, class Sums, class Rows>
    __device__ float put(const Sums &sum, unsigned char *memory, const pixels_job &,
                         const Rows &rows, int j0, int share) const {
        if (!Team::SQUARES && end.sums) {
            float *sums = end.sums + (size_t)share * (size_t)end.rows * (size_t)end.channels;
            sum.each([&](int i, int j, const float *two) {
                int row = rows.output(i);
                if (row < 0 || j0 + j >= end.channels) return;
                *(pack<2> *)(sums + (size_t)row * (size_t)end.channels + (j0 + j)) =
                    pack<2>{{two[0], two[1]}};
            });
            return 0;
        }
        float *tile = (float *)memory;
        Team::sync(); /* all have multiplied the last slice */
        sum.each([&](int i, int j, const float *two) {
            *(pack<2> *)(tile + place_of<SIDE>(rows.place(i), j)) = pack<2>{{two[0], two[1]}};
        });
        Team::sync();
        const int N = piece<T>::NUMBERS;
        return end_rows<T, INPUT, Team, Team::ROWS, SIDE>(
            end, tile, rows, j0, [&](float(&v)[N], int i, int j) {
#pragma unroll
                for (int e = 0; e < N; e += 4) {
                    pack<4> four = *(const pack<4> *)(tile + place_of<SIDE>(i, j + e));
                    for (int f = 0; f < 4; f++) v[e + f] = four.v[f];
                }
            });
    }

    template <int SIDE, class Team> __device__ void put_total(float total, int part, int j0) const {
        if (INPUT) end_total<SIDE, Team>(end, total, part, j0);
    }
};

enum { SHARED_SIDE = 64 }; /* of a block that adds shares */

template <class T, bool INPUT>
static __global__ void __launch_bounds__(TENSOR_THREADS) add_sums(tensor_end end, int shares) {
    const int N = piece<T>::NUMBERS;
    __shared__ float memory[TENSOR_THREADS * N];
    int across = (end.channels - 1) / SHARED_SIDE + 1;
    int tile = (int)blockIdx.x / across, i0 = tile * TENSOR_END_ROWS;
    int j0 = (int)blockIdx.x % across * SHARED_SIDE;
    rows_in_line rows = {i0, end.rows};
    size_t each = (size_t)end.rows * (size_t)end.channels;
    float total = end_rows<T, INPUT, block_team, TENSOR_END_ROWS, SHARED_SIDE>(
        end, memory, rows, j0, [&](float(&v)[N], int i, int j) {
            const float *from =
                end.sums + (size_t)(i0 + i) * (size_t)end.channels + (size_t)(j0 + j);
#pragma unroll
            for (int e = 0; e < N; e += 4) {
                pack<4> sum = *(const pack<4> *)(from + e);
#pragma unroll 4
                for (int share = 1; share < shares; share++) {
                    pack<4> more = *(const pack<4> *)(from + (size_t)share * each + e);
                    for (int f = 0; f < 4; f++) sum.v[f] += more.v[f];
                }
                for (int f = 0; f < 4; f++) v[e + f] = sum.v[f];
            }
        });
    if (INPUT) end_total<SHARED_SIDE, block_team>(end, total, tile, j0);
}

/* ---- launches --------------------------------------------------------------------------------*/

static size_t tiles_of(int rows, int channels, int side) {
    return (size_t)((rows - 1) / TENSOR_ROWS + 1) * (size_t)((channels - 1) / side + 1);
}

static int slices_of(const pixels_job &job, tl_precision precision) {
    return precision == TL_BF16 ? pixels_slices<bf16>(job) : pixels_slices<float>(job);
}

static pixels_job job_of(const tl_conv2d_geom &g, bool input, tl_precision precision) {
    pixels_job job = pixels_job_of(g, input);
    job.channels = padded_to(precision, input ? g.k : g.c);
    job.count = g.n * job.high * job.wide;
    return job;
}

extern "C" int tl_rung_net_tensor_shares(const tl_conv2d_geom *g, bool input,
                                         tl_precision precision) {
    pixels_job job = job_of(*g, input, precision);
    size_t tiles = tiles_of(job.count, job.out, 64);
    size_t shares = FULL_GPU / tiles, most = (size_t)slices_of(job, precision) / LEAST_SLICES;
    if (shares < 4) return 1; /* the second kernel would cost what the first gains */
    if (shares > most) shares = most;
    return shares > 1 ? (int)shares : 1;
}

extern "C" int tl_rung_net_tensor_parts(const tl_conv2d_geom *g, tl_precision precision) {
    pixels_job job = job_of(*g, true, precision);
    job.shares = tl_rung_net_tensor_shares(g, true, precision);
    if (job.shares > 1) return (job.count - 1) / TENSOR_END_ROWS + 1;
    return precision == TL_BF16 ? totals_of<bf16>(job) : totals_of<float>(job);
}

template <class T, bool INPUT>
static tl_status launch(tl_ctx *ctx, const pixels_job &job, const tensor_end &end) {
    to_pixels<T, INPUT> to = {end};
    if (job.shares == 1) to.end.sums = NULL;
    bool wide = fill_wide(job.out) && tiles_of(job.count, job.out, 128) >= FULL_GPU / 2;
    TL_TRY((wide ? sum_products<T, 128, INPUT>(ctx, job, to)
                 : sum_products<T, 64, INPUT>(ctx, job, to)));
    if (job.shares == 1) return TL_OK;
    unsigned blocks = (unsigned)((end.rows - 1) / TENSOR_END_ROWS + 1);
    blocks *= (unsigned)((end.channels - 1) / SHARED_SIDE + 1);
    add_sums<T, INPUT><<<blocks, TENSOR_THREADS, 0, tl_stream(ctx)>>>(end, job.shares);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" tl_status tl_rung_net_tensor_sums(tl_ctx *ctx, const tl_conv2d_geom *g, bool input,
                                             const void *from, const void *weights,
                                             const tensor_end *end, tl_precision precision) {
    pixels_job job = job_of(*g, input, precision);
    job.from = from, job.weights = weights;
    job.shares = tl_rung_net_tensor_shares(g, input, precision);
    job.windows = end->pool && !input;
    if (job.windows) job.high -= job.high % 2, job.wide -= job.wide % 2;
    job.count = g->n * job.high * job.wide;
    tensor_end last = *end;
    last.rows = job.count;
    if (precision == TL_BF16)
        return input ? launch<bf16, true>(ctx, job, last) : launch<bf16, false>(ctx, job, last);
    return input ? launch<float, true>(ctx, job, last) : launch<float, false>(ctx, job, last);
}
#endif
