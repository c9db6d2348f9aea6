/* trainer.c: the device memory of one batch, around the student's training loop (tl/train.h). */
#include "tl/train.h"

#include "step.h"

/* Device memory for `count` elements of `size` bytes; NULL, with the reason in *status, if that or
 * an earlier call failed. */
static void *take(tl_trainer *tr, tl_status *status, size_t count, size_t size) {
    void *block = NULL;
    if (*status == TL_OK) *status = tl_alloc_get(tr->ctx->alloc, &block, count * size);
    return block;
}

tl_status tl_trainer_init(tl_trainer *tr) {
    const tl_device_split *d = &tr->train;
    TL_NEED(tr->batch >= 1, TL_EINVAL, "BATCH=%d: a batch has at least one image", tr->batch);
    size_t rows = (size_t)tr->batch;
    tl_status status = tl_tensor_new(&tr->x, tr->ctx, 4, (int[]){tr->batch, d->c, d->h, d->w});
    tr->label = take(tr, &status, rows, sizeof *tr->label);
    tr->row_loss = take(tr, &status, rows, sizeof *tr->row_loss);
    tr->prob = take(tr, &status, rows * (size_t)d->classes, sizeof *tr->prob);
    tr->sums = take(tr, &status, 1, sizeof *tr->sums);
    TL_TRY(status);
    TL_TRY(tr->ctx->ops->zero(tr->ctx, tr->sums, sizeof *tr->sums));
    return tl_tape_new(&tr->tape, tr->ctx);
}

void tl_trainer_release(tl_trainer *tr) {
    if (!tr->ctx) return;
    tl_alloc *alloc = tr->ctx->alloc;
    tl_captured_free(tr);
    tl_tape_free(tr->tape);
    tl_tensor_free(tr->x);
    tl_alloc_put(alloc, tr->label);
    tl_alloc_put(alloc, tr->row_loss);
    tl_alloc_put(alloc, tr->prob);
    tl_alloc_put(alloc, tr->sums);
    tl_history_clear(&tr->history);
    tr->tape = NULL;
    tr->x = NULL;
    tr->label = NULL;
    tr->row_loss = tr->prob = NULL;
    tr->sums = NULL;
}
