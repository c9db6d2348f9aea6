/* augment.c: a batch from the data set on the device: shuffled, cropped, flipped. (tl/data.h) */
#include "tl/data.h"
#include "tl/rng.h"

/* Below this many pixels a call is over before other threads have started. */
enum { PARALLEL_FROM = 1 << 14 };

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
    /* TODO(lab 5): Images step->first .. step->first + n - 1 of the epoch, as x[n,c,h,w], and their
     * labels. Position p of the epoch shows image p of the split, or with g->shuffle image
     * tl_rng_permute(seed, epoch, count, p). Every byte goes through the table of its channel:
     * split->lut[channel*256 + byte]. With g->augment, tl_rng_crop(seed, epoch, p, g->pad) says
     * what is cut out of the picture when it has g->pad black pixels on every side, and whether it
     * is then mirrored. Traps: black is byte 0 through the table, not the number 0; the draws
     * belong to the position p, not to the image; pad counts in both directions. */
    return TL_NOT_IMPLEMENTED();
}
