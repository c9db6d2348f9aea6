/* conv3x3.cu: a convolution of 3x3 pixels with little memory traffic. (tl/conv3x3.h) */
#include "tl/conv3x3.h"
#include "tl/cuda.h"

//@lab 5:
/* A block makes WIDE x HIGH outputs of CHANNELS channels; a thread PLACES of them, one below the
 * other, all these channels. */
enum { WIDE = 32, HIGH = 8, PLACES = 4, CHANNELS = 16, THREADS = WIDE * HIGH / PLACES };
//@end

//@lab 5:
/* What the block shares of one input channel: its pixels with a rim of one, and the weights. A warp
 * reads a row of the tile, one word each, and all lanes the same weight: no bank is asked twice. */
typedef struct shared_part {
    tl_real pixel[HIGH + 2][WIDE + 2];
    tl_real weight[CHANNELS][9];
} shared_part;
//@end

//@lab 5:
/* All threads fetch the pixels around the block at (top, left) of a plane, zero outside of it. */
static __device__ void fetch_pixels(shared_part *part, const tl_real *plane, int top, int left,
                                    tl_conv3x3_geom g) {
    int thread = (int)(threadIdx.y * WIDE + threadIdx.x);
    for (int t = thread; t < (HIGH + 2) * (WIDE + 2); t += THREADS) {
        int i = top + t / (WIDE + 2) - 1, j = left + t % (WIDE + 2) - 1;
        bool inside = i >= 0 && i < g.h && j >= 0 && j < g.w;
        part->pixel[t / (WIDE + 2)][t % (WIDE + 2)] = inside ? plane[(size_t)i * g.w + j] : TL_R(0);
    }
}
//@end

//@lab 5:
/* And the weights from input channel c to these output channels from k0 on. */
static __device__ void fetch_weights(shared_part *part, const tl_real *w, int c, int k0,
                                     int channels, tl_conv3x3_geom g) {
    int thread = (int)(threadIdx.y * WIDE + threadIdx.x);
    for (int t = thread; t < 9 * channels; t += THREADS) {
        int k = k0 + t / 9, tap = g.transposed ? 8 - t % 9 : t % 9;
        size_t filter = g.transposed ? (size_t)c * g.k + k : (size_t)k * g.c + c;
        part->weight[t / 9][t % 9] = w[filter * 9 + tap];
    }
}
//@end

//@lab 5:
/* sum[m][k] of the thread's place m grows by what this input channel gives to it. What is read once
 * serves all places: a weight, and a pixel of windows that overlap. The loop ends at the last
 * channel: with an `if` inside, each of 16 branches finds out anew where the weights lie. */
static __device__ void add_channel(tl_real sum[PLACES][CHANNELS], const shared_part *part,
                                   int channels) {
    tl_real pixel[PLACES + 2][3];
    for (int r = 0; r < PLACES + 2; r++)
        for (int s = 0; s < 3; s++)
            pixel[r][s] = part->pixel[threadIdx.y * PLACES + r][threadIdx.x + s];
    for (int k = 0; k < CHANNELS && k < channels; k++)
        for (int t = 0; t < 9; t++) {
            tl_real weight = part->weight[k][t];
            for (int m = 0; m < PLACES; m++) sum[m][k] += weight * pixel[m + t / 3][t % 3];
        }
}
//@end

//@lab 5: The kernel below is right and slow: neighbouring threads fetch nearly the same pixels, and
//@  all of them the same weights, again for every output channel. Climb the rungs of conv3x3.md:
//@  (1) a thread makes four output channels of its place, with four sums in registers; (2) a tile
//@  of the image in shared memory, with a rim of one pixel, fetched once for each input channel by
//@  all threads together; (3) the weights in shared memory, too, and eight channels a thread; (4)
//@  all 16 from one tile, without conflicts of banks; (5) four places a thread, one below the
//@  other: a weight that is read once serves all of them, and so does a pixel, from registers. And
//@  g.transposed, which the given launch refuses. Traps: K need not be a multiple of the channels
//@  that a thread keeps, nor h of its places; every thread takes part in fetching and in both
//@  barriers, also if its own places lie outside of the image; a barrier after fetching, and
//@  another one before the tile is overwritten.
/* Image and channel group are in the grid. Threads outside of the image fetch and wait with the
 * others, and write nothing. */
static __global__ void convolve(tl_real *y, const tl_real *x, const tl_real *w, tl_conv3x3_geom g) {
    __shared__ shared_part part;
    int across = (g.w - 1) / WIDE + 1, groups = (g.k - 1) / CHANNELS + 1;
    int left = (int)blockIdx.x % across * WIDE, top = (int)blockIdx.x / across * HIGH;
    int k0 = (int)blockIdx.y % groups * CHANNELS, image = (int)blockIdx.y / groups;
    int channels = g.k - k0 < CHANNELS ? g.k - k0 : (int)CHANNELS;
    int i = top + (int)threadIdx.y * PLACES, j = left + (int)threadIdx.x;
    size_t plane = (size_t)g.h * g.w;
    tl_real sum[PLACES][CHANNELS] = {{0}};
    for (int c = 0; c < g.c; c++) {
        fetch_pixels(&part, x + ((size_t)image * g.c + c) * plane, top, left, g);
        fetch_weights(&part, w, c, k0, channels, g);
        __syncthreads();
        add_channel(sum, &part, channels);
        __syncthreads(); /* before the next channel is fetched into the same place */
    }
    for (int m = 0; m < PLACES; m++)
        for (int k = 0; k < CHANNELS && k < channels && i + m < g.h && j < g.w; k++)
            y[((size_t)image * g.k + k0 + k) * plane + (size_t)(i + m) * g.w + j] = sum[m][k];
}
//@skeleton
// /* One thread per output, and everything from global memory. */
// static __global__ void convolve(tl_real *y, const tl_real *x, const tl_real *w, size_t size,
//                                 tl_conv3x3_geom g) {
//     for (size_t t = tl_thread(); t < size; t += tl_threads()) {
//         int j = (int)(t % g.w), i = (int)(t / g.w % g.h);
//         size_t k = t / g.w / g.h % g.k, image = t / g.w / g.h / g.k;
//         tl_real sum = 0;
//         for (int c = 0; c < g.c; c++) {
//             for (int tap = 0; tap < 9; tap++) {
//                 int h = i + tap / 3 - 1, v = j + tap % 3 - 1;
//                 if (h < 0 || h >= g.h || v < 0 || v >= g.w) continue;
//                 sum += w[(k * g.c + c) * 9 + tap] *
//                        x[((image * g.c + c) * g.h + h) * (size_t)g.w + v];
//             }
//         }
//         y[t] = sum;
//     }
// }
//@end

tl_status tl_conv3x3(tl_ctx *ctx, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_conv3x3_geom *g) {
    TL_NEED(ctx && y && x && w && g, TL_EINVAL, "tl_conv3x3: ctx, y, x, w or the geometry is NULL");
    TL_NEED(g->n >= 1 && g->c >= 1 && g->k >= 1 && g->h >= 1 && g->w >= 1, TL_EINVAL,
            "conv3x3 of x[%d,%d,%d,%d] to %d channels: every size is at least 1", g->n, g->c, g->h,
            g->w, g->k);
    //@lab 5: The launch. The batch stays in the grid: as many launches for one image as for many.
    int tiles = ((g->w - 1) / WIDE + 1) * ((g->h - 1) / HIGH + 1);
    int groups = (g->k - 1) / CHANNELS + 1;
    dim3 grid((unsigned)tiles, (unsigned)(groups * g->n));
    convolve<<<grid, dim3(WIDE, HIGH / PLACES), 0, tl_stream(ctx)>>>(y, x, w, *g);
    //@skeleton
    // if (g->transposed) return TL_NOT_IMPLEMENTED();
    // size_t size = (size_t)g->n * (size_t)g->k * (size_t)g->h * (size_t)g->w;
    // convolve<<<tl_blocks(size, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, w, size, *g);
    //@end
    TL_LAUNCHED();
    return TL_OK;
}
