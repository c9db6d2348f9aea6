/* 01_words.cu: the batch loader with four pixels a thread. (tl/data.h)
 *
 * The plain path lets a block walk over its image; here every thread of enough blocks has one group
 * of four pixels of a row, so that a batch takes one trip to memory for the bytes and one for their
 * values. Each block makes its image's draws again, which is cheaper than a second kernel. */
#include "kernels/rungs.h"
#include "tl/cuda.h"
#include "tl/data.h"
#include "tl/rng.h"

enum { PIXELS = 4 };

struct alignas(PIXELS * sizeof(tl_real)) group {
    tl_real v[PIXELS];
};

/* Beyond the split there is no image: black, and label -1, as on the plain path. */
static __global__ void load_batch(tl_real *__restrict__ x, int32_t *__restrict__ label,
                                  tl_device_split split, const tl_step *__restrict__ step,
                                  tl_batch_geom g) {
    __shared__ uint32_t image;
    __shared__ tl_crop crop;
    size_t position = (size_t)step->first + blockIdx.x;
    bool exists = position < split.count;
    if (threadIdx.x == 0) {
        uint32_t at = (uint32_t)position;
        image = exists && g.shuffle
                    ? tl_rng_permute(step->seed, step->epoch, (uint32_t)split.count, at)
                    : at;
        if (blockIdx.y == 0) label[blockIdx.x] = exists ? split.labels[image] : -1;
    }
    /* another warp, at the same time */
    if (threadIdx.x == 32) {
        crop = tl_crop{g.pad, g.pad, 0};
        if (g.augment) crop = tl_rng_crop(step->seed, step->epoch, (uint32_t)position, g.pad);
    }
    __syncthreads();

    unsigned across = (unsigned)split.w / PIXELS, h = (unsigned)split.h;
    unsigned t = blockIdx.y * TL_BLOCK + threadIdx.x, row = t / across, j = t % across * PIXELS;
    unsigned channel = row / h;
    if (channel >= (unsigned)split.c) return;
    int from = (int)(row % h) + crop.dy - g.pad;
    size_t size = (size_t)split.c * h * split.w;
    const uint8_t *__restrict__ line = split.images + image * size + (channel * h + from) * split.w;
    const tl_real *__restrict__ lut = split.lut + channel * 256;
    uint8_t byte[PIXELS];
    group out;
#pragma unroll
    for (int e = 0; e < PIXELS; e++) {
        int column = (int)j + e;
        int w = (crop.flip ? split.w - 1 - column : column) + crop.dx - g.pad;
        bool inside = exists && from >= 0 && from < split.h && w >= 0 && w < split.w;
        byte[e] = inside ? line[w] : 0;
    }
#pragma unroll
    for (int e = 0; e < PIXELS; e++) out.v[e] = lut[byte[e]];
    *(group *)(x + blockIdx.x * size + (size_t)row * split.w + j) = out;
}

static tl_status batch_load(tl_ctx *ctx, tl_real *x, int32_t *label, const tl_device_split *split,
                            const tl_step *step, const tl_batch_geom *g) {
    TL_NEED(ctx && x && label && split && step && g, TL_EINVAL,
            "batch rung 1: ctx, x, label, split, step or the geometry is NULL");
    TL_NEED(split->images && split->labels && split->lut, TL_EINVAL,
            "batch rung 1: images, labels or lut of the split is NULL");
    /* a group is stored in one go */
    if (split->w % PIXELS != 0 || !rung_aligned(x, sizeof(group)))
        return tl_batch_load(ctx, x, label, split, step, g);
    TL_NEED(g->pad >= 0, TL_EINVAL, "batch rung 1: pad is %d, must not be negative", g->pad);
    TL_NEED(g->n >= 1 && (size_t)g->n <= split->count, TL_EINVAL,
            "batch of %d images: the split has %zu", g->n, split->count);
    size_t groups = (size_t)split->c * (size_t)split->h * (size_t)split->w / PIXELS;
    dim3 grid((unsigned)g->n, (unsigned)((groups + TL_BLOCK - 1) / TL_BLOCK));
    load_batch<<<grid, TL_BLOCK, 0, tl_stream(ctx)>>>(x, label, *split, step, *g);
    TL_LAUNCHED();
    return TL_OK;
}

extern "C" void tl_rung_batch_words(tl_backend *ops) { ops->batch_load = batch_load; }
