/* trainer.c: the device memory of one batch, around the student's training loop (tl/train.h). */
#include "tl/train.h"

#include "step.h"

tl_status tl_trainer_init(tl_trainer *tr) {
    tl_alloc *alloc = tr->ctx->alloc;
    const tl_device_split *d = &tr->train;
    TL_NEED(tr->batch >= 1, TL_EINVAL, "BATCH=%d: a batch has at least one image", tr->batch);
    size_t rows = (size_t)tr->batch;
    TL_TRY(tl_tensor_new(&tr->x, tr->ctx, 4, (int[]){tr->batch, d->c, d->h, d->w}));
    TL_TRY(tl_alloc_get(alloc, (void **)&tr->label, rows * sizeof *tr->label));
    TL_TRY(tl_alloc_get(alloc, (void **)&tr->row_loss, rows * sizeof *tr->row_loss));
    TL_TRY(tl_alloc_get(alloc, (void **)&tr->prob, rows * (size_t)d->classes * sizeof *tr->prob));
    TL_TRY(tl_alloc_get(alloc, (void **)&tr->sums, sizeof *tr->sums));
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
    tr->tape = NULL;
    tr->x = NULL;
    tr->label = NULL;
    tr->row_loss = tr->prob = NULL;
    tr->sums = NULL;
}
