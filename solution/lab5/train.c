/* train.c: the training loop (tl/train.h). */
#include "tl/train.h"

#include "tl/loss.h"

/* Tells the device where the run stands: draws and learning rate of the next operations follow it.
 */
static tl_status announce_step(const tl_trainer *tr, uint32_t first) {
    tl_step now = {.seed = tr->seed,
                   .index = tr->index,
                   .epoch = tr->epoch,
                   .first = first,
                   .lr = tl_schedule_lr(&tr->schedule, tr->index)};
    return tr->ctx->ops->step_set(tr->ctx, &now);
}

/* Loads n images of the split and computes their mean loss into *loss; adds to tr->sums. */
static tl_status forward_batch(tl_trainer *tr, const tl_device_split *split, int n, bool training,
                               tl_var **loss) {
    //@lab 5: One batch through the net. (1) ctx->ops->batch_load of the n images at the position
    //@  in *ctx->step, into tr->x and tr->label: shuffled if training, augmented and padded if
    //@  training and tr->augment. (2) The images as a variable that wants no gradient
    //@  (tl_tape_wrap). The last batch may be smaller than tr->x, and wrapping needs equal sizes:
    //@  wrap a copy of *tr->x, a local tl_tensor with dim[0] and size of n images and the same
    //@  memory. (3) The net's forward. (4) tl_loss_head (tl/loss.h), which also adds losses and
    //@  hits to tr->sums.
    //@  Nothing is read back to the host: that would wait for the device in every step.
    const tl_backend *ops = tr->ctx->ops;
    tl_batch_geom g = {.n = n,
                       .shuffle = training,
                       .augment = training && tr->augment,
                       .pad = training && tr->augment ? tr->pad : 0};
    tl_var *x, *logits;
    TL_TRY(ops->batch_load(tr->ctx, tr->x->data, tr->label, split, tr->ctx->step, &g));
    tl_tensor images = *tr->x; /* the first n of the batch memory */
    images.dim[0] = n;
    images.size = (size_t)n * split->c * split->h * split->w;
    TL_TRY(tl_tape_wrap(tr->tape, &x, &images, 4, images.dim, false));
    TL_TRY(tl_module_forward(tr->net, tr->tape, &logits, x, training));
    return tl_loss_head(tr->tape, loss, logits, tr->label, tr->row_loss, tr->prob, tr->sums);
    //@skeleton
    // (void)tr, (void)split, (void)n, (void)training, (void)loss;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

/* The position was announced before: a captured step is replayed at other positions. */
static tl_status gradient_work(tl_trainer *tr, const tl_device_split *split, int n) {
    //@lab 5: Before: what is left of the last step must go, from the tape and from the gradients.
    tl_tape_reset(tr->tape);
    TL_TRY(tl_params_zero_grad(tr->params));
    //@skeleton
    // TL_TRY(TL_NOT_IMPLEMENTED());
    //@end
    TL_TRY(forward_batch(tr, split, n, true, &tr->loss));
    //@lab 5: After: from the loss back to the parameters.
    return tl_tape_backward(tr->tape, tr->loss);
    //@skeleton
    // return TL_NOT_IMPLEMENTED();
    //@end
}

static tl_status step_work(tl_trainer *tr, const tl_device_split *split, int n) {
    //@lab 5: Gradients, then one step of the optimiser.
    TL_TRY(gradient_work(tr, split, n));
    return tl_optimizer_step(&tr->optimizer, tr->params);
    //@skeleton
    // (void)tr, (void)split, (void)n;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_train_gradients(tl_trainer *tr, int n) {
    //@lab 5: The gradients of the next n images at the position of the run. Who must know where
    //@  the run stands before work is queued?
    TL_TRY(announce_step(tr, tr->first));
    return gradient_work(tr, &tr->train, n);
    //@skeleton
    // (void)gradient_work, (void)announce_step, (void)tr, (void)n;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_train_step(tl_trainer *tr, int n) {
    //@lab 5: One step: announce the position, let tl_trainer_run do step_work (it may replay
    //@  captured work: tl/train.h), then move the position by n images and one step. Trap: work
    //@  that was recorded is replayed as it is, so what changes from step to step must not be
    //@  decided in it.
    TL_TRY(announce_step(tr, tr->first));
    TL_TRY(tl_trainer_run(tr, step_work, &tr->train, n));
    tr->first += (uint32_t)n;
    tr->index++;
    return TL_OK;
    //@skeleton
    // (void)step_work, (void)tr, (void)n;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_train_epoch(tl_trainer *tr) {
    //@lab 5: The steps that are left of this epoch, from tr->first on: a run may go on in the
    //@  middle of one. The last batch is as large as there are images left. tr->sums starts from
    //@  zero only at the start of an epoch. After each step tr->on_step is called, if there is
    //@  one; a failure of it ends the epoch. At the end the position is the start of the next
    //@  epoch.
    const uint32_t count = (uint32_t)tr->train.count;
    if (tr->first == 0) TL_TRY(tr->ctx->ops->zero(tr->ctx, tr->sums, sizeof *tr->sums));
    while (tr->first < count) {
        uint32_t left = count - tr->first;
        int n = left < (uint32_t)tr->batch ? (int)left : tr->batch;
        TL_TRY(tl_train_step(tr, n));
        if (tr->on_step) TL_TRY(tr->on_step(tr, n, tr->user));
    }
    tr->epoch++;
    tr->first = 0;
    return TL_OK;
    //@skeleton
    // (void)tr;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

static tl_status evaluation_work(tl_trainer *tr, const tl_device_split *split, int n) {
    //@lab 5: One batch forward without leaving nodes. First what the last batch made is let go:
    //@  the tape owns it, recording or not. Recording must be afterwards what it was before, also
    //@  where forward fails.
    tl_var *loss;
    tl_tape_reset(tr->tape);
    bool recording = tl_tape_set_recording(tr->tape, false);
    tl_status status = forward_batch(tr, split, n, false, &loss);
    tl_tape_set_recording(tr->tape, recording);
    return status;
    //@skeleton
    // (void)tr, (void)split, (void)n;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_evaluate(tl_trainer *tr, const tl_device_split *split, tl_metrics *result) {
    //@lab 5: Mean loss and accuracy over the whole split, batch by batch, the partial last one
    //@  included: sums from zero, for each batch its position announced and evaluation_work run by
    //@  tl_trainer_run, and the sums read once at the end (tl/metrics.h). Neither parameters nor
    //@  position change.
    const uint32_t count = (uint32_t)split->count;
    TL_TRY(tr->ctx->ops->zero(tr->ctx, tr->sums, sizeof *tr->sums));
    for (uint32_t first = 0; first < count;) {
        int n = count - first < (uint32_t)tr->batch ? (int)(count - first) : tr->batch;
        TL_TRY(announce_step(tr, first));
        TL_TRY(tl_trainer_run(tr, evaluation_work, split, n));
        first += (uint32_t)n;
    }
    return tl_metrics_read(tr->ctx, result, tr->sums);
    //@skeleton
    // (void)evaluation_work, (void)tr, (void)split, (void)result;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
