/* augment.cu: a batch from the data set on the device, on a GPU: shuffled, cropped, flipped.
 * (tl/data.h)
 *
 * The data set stays on the device as bytes; the host sends nothing and waits for nothing. Where a
 * batch starts is read from *step when the kernel runs, so the host cannot check it against the
 * number of images: beyond them there is no image, the picture is black and the label -1, which
 * makes the loss NaN. */
#include "tl/cuda.h"
#include "tl/data.h"
#include "tl/rng.h"

//@lab 5:
/* Which image goes where, and how: the same draws from the same position as on every device. */
typedef struct choice {
    bool exists;
    size_t image;
    tl_crop crop;
} choice;
//@end

//@lab 5:
static __device__ choice choose(size_t position, size_t count, const tl_step *step,
                                tl_batch_geom g) {
    uint32_t at = (uint32_t)position;                           /* of 2^32 images at most */
    choice c = {position < count, position, {g.pad, g.pad, 0}}; /* the middle: nothing cut off */
    if (c.exists && g.shuffle)
        c.image = tl_rng_permute(step->seed, step->epoch, (uint32_t)count, at);
    if (g.augment) c.crop = tl_rng_crop(step->seed, step->epoch, at, g.pad);
    return c;
}
//@end

//@lab 5:
/* One block per image: one thread draws, all copy pixels. The padding is black before
 * standardising, as if the picture had been larger: lut[0], not 0. */
static __global__ void load_batch(tl_real *x, int32_t *label, tl_device_split split,
                                  const tl_step *step, tl_batch_geom g) {
    __shared__ choice c;
    if (threadIdx.x == 0) {
        c = choose((size_t)step->first + blockIdx.x, split.count, step, g);
        label[blockIdx.x] = c.exists ? split.labels[c.image] : -1;
    }
    __syncthreads();

    size_t plane = (size_t)split.h * split.w, size = split.c * plane;
    const uint8_t *image = split.images + c.image * size;
    for (size_t t = threadIdx.x; t < size; t += TL_BLOCK) {
        size_t channel = t / plane;
        int i = (int)(t % plane) / split.w, j = (int)(t % plane) % split.w;
        int h = i + c.crop.dy - g.pad;
        int w = (c.crop.flip ? split.w - 1 - j : j) + c.crop.dx - g.pad;
        bool inside = c.exists && h >= 0 && h < split.h && w >= 0 && w < split.w;
        uint8_t byte = inside ? image[channel * plane + (size_t)h * split.w + w] : 0;
        x[blockIdx.x * size + t] = split.lut[channel * 256 + byte];
    }
}
//@end

tl_status tl_batch_load(tl_ctx *ctx, tl_real *x, int32_t *label, const tl_device_split *split,
                        const tl_step *step, const tl_batch_geom *g) {
    TL_NEED(ctx && x && label && split && step && g, TL_EINVAL,
            "tl_batch_load: ctx, x, label, split, step or the geometry is NULL");
    TL_NEED(split->images && split->labels && split->lut, TL_EINVAL,
            "tl_batch_load: images, labels or lut of the split is NULL");
    TL_NEED(g->pad >= 0, TL_EINVAL, "tl_batch_load: pad is %d, must not be negative", g->pad);
    TL_NEED(g->n >= 1 && (size_t)g->n <= split->count, TL_EINVAL,
            "batch of %d images: the split has %zu", g->n, split->count);
    //@lab 5: A kernel and its launch: images step->first .. step->first + n - 1 of the epoch, as
    //@  x[n,c,h,w], and their labels; see augment.c for the rules, and tl/rng.h: its functions run
    //@  in kernels, too. step lies in device memory. A block per image draws once, and all its
    //@  threads copy pixels. Positions beyond the last image: see above.
    load_batch<<<(unsigned)g->n, TL_BLOCK, 0, tl_stream(ctx)>>>(x, label, *split, step, *g);
    TL_LAUNCHED();
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
