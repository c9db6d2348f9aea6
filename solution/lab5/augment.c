/* augment.c: a batch from the data set on the device: shuffled, cropped, flipped. (tl/data.h) */
#include "tl/data.h"
#include "tl/rng.h"

/* Below this many pixels a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 14 };

//@lab 5:
/* One image as it is: byte by byte through the table of its channel. */
static void copy_image(tl_real *x, const uint8_t *image, const tl_device_split *split) {
    size_t plane = (size_t)split->h * (size_t)split->w;
    for (int ch = 0; ch < split->c; ch++) {
        const tl_real *lut = split->lut + ch * 256;
        for (size_t i = 0; i < plane; i++) x[i] = lut[image[i]];
        x += plane;
        image += plane;
    }
}
//@end

//@lab 5:
/* One row of a cropped image: x[i] is column i + shift of `row`, or lut[0] beyond its ends. The
 * padding is black before standardising, as if the picture had been larger: lut[0], not 0. */
static void crop_row(tl_real *x, const uint8_t *row, const tl_real *lut, int w, int shift,
                     int flip) {
    for (int i = 0; i < w; i++) {
        int from = i + shift;
        uint8_t byte = from >= 0 && from < w ? row[from] : 0;
        x[flip ? w - 1 - i : i] = lut[byte];
    }
}
//@end

//@lab 5:
/* One image, cropped from its padded self and then mirrored if crop.flip says so. */
static void crop_image(tl_real *x, const uint8_t *image, const tl_device_split *split, tl_crop crop,
                       int pad) {
    int h = split->h, w = split->w;
    for (int ch = 0; ch < split->c; ch++) {
        const tl_real *lut = split->lut + ch * 256;
        for (int i = 0; i < h; i++) {
            int from = i + crop.dy - pad;
            if (from >= 0 && from < h) {
                const uint8_t *row = image + ((size_t)ch * (size_t)h + (size_t)from) * (size_t)w;
                crop_row(x, row, lut, w, crop.dx - pad, crop.flip);
            } else {
                for (int j = 0; j < w; j++) x[j] = lut[0];
            }
            x += w;
        }
    }
}
//@end

//@lab 5:
/* Every image is found, cropped and flipped from its position in the epoch alone, so threads share
 * nothing and any number of them gives the same batch. */
//@end
tl_status tl_batch_load(tl_ctx *ctx, tl_real *x, int32_t *label, const tl_device_split *split,
                        const tl_step *step, const tl_batch_geom *g) {
    TL_NEED(ctx && x && label && split && step && g, TL_EINVAL,
            "tl_batch_load: ctx, x, label, split, step or the geometry is NULL");
    TL_NEED(split->images && split->labels && split->lut, TL_EINVAL,
            "tl_batch_load: images, labels or lut of the split is NULL");
    TL_NEED(g->pad >= 0, TL_EINVAL, "tl_batch_load: pad is %d, must not be negative", g->pad);
    TL_NEED(g->n >= 1 && (uint64_t)step->first + (uint64_t)g->n <= split->count, TL_EINVAL,
            "batch of %d images at position %u: the split has %zu", g->n, step->first,
            split->count);
    //@lab 5: Images step->first .. step->first + n - 1 of the epoch, as x[n,c,h,w], and their
    //@  labels. Position p of the epoch shows image p of the split, or with g->shuffle image
    //@  tl_rng_permute(seed, epoch, count, p). Every byte goes through the table of its channel:
    //@  split->lut[channel*256 + byte]. With g->augment, tl_rng_crop(seed, epoch, p, g->pad) says
    //@  what is cut out of the picture when it has g->pad black pixels on every side, and whether
    //@  it is then mirrored. Traps: black is byte 0 through the table, not the number 0; the draws
    //@  belong to the position p, not to the image; pad counts in both directions.
    size_t size = (size_t)split->c * (size_t)split->h * (size_t)split->w;
    uint32_t count = (uint32_t)split->count;

#pragma omp parallel for num_threads(ctx->threads) if ((size_t)g->n * size >= PARALLEL_FROM)
    for (int i = 0; i < g->n; i++) {
        uint32_t position = step->first + (uint32_t)i, from = position;
        if (g->shuffle) from = tl_rng_permute(step->seed, step->epoch, count, position);
        const uint8_t *image = split->images + from * size;
        tl_real *to = x + (size_t)i * size;
        if (g->augment) {
            tl_crop crop = tl_rng_crop(step->seed, step->epoch, position, g->pad);
            crop_image(to, image, split, crop, g->pad);
        } else {
            copy_image(to, image, split);
        }
        label[i] = split->labels[from];
    }
    return TL_OK;
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}
