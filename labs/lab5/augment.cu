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

tl_status tl_batch_load(tl_ctx *ctx, tl_real *x, int32_t *label, const tl_device_split *split,
                        const tl_step *step, const tl_batch_geom *g) {
    TL_NEED(ctx && x && label && split && step && g, TL_EINVAL,
            "tl_batch_load: ctx, x, label, split, step or the geometry is NULL");
    TL_NEED(split->images && split->labels && split->lut, TL_EINVAL,
            "tl_batch_load: images, labels or lut of the split is NULL");
    TL_NEED(g->pad >= 0, TL_EINVAL, "tl_batch_load: pad is %d, must not be negative", g->pad);
    TL_NEED(g->n >= 1 && (size_t)g->n <= split->count, TL_EINVAL,
            "batch of %d images: the split has %zu", g->n, split->count);
    /* TODO(lab 5): A kernel and its launch: images step->first .. step->first + n - 1 of the epoch,
     * as x[n,c,h,w], and their labels; see augment.c for the rules, and tl/rng.h: its functions run
     * in kernels, too. step lies in device memory. A block per image draws once, and all its
     * threads copy pixels. Positions beyond the last image: see above. */
    return TL_NOT_IMPLEMENTED();
}
