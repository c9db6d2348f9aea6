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
    /* TODO(lab 5): One batch through the net. (1) ctx->ops->batch_load of the n images at the
     * position in *ctx->step, into tr->x and tr->label: shuffled if training, augmented and padded
     * if training and tr->augment. (2) The images as a variable that wants no gradient
     * (tl_tape_wrap). The last batch may be smaller than tr->x, and wrapping needs equal sizes:
     * wrap a copy of *tr->x, a local tl_tensor with dim[0] and size of n images and the same
     * memory. (3) The net's forward. (4) tl_loss_head (tl/loss.h), which also adds losses and hits
     * to tr->sums. Nothing is read back to the host: that would wait for the device in every step.
     */
    (void)tr, (void)split, (void)n, (void)training, (void)loss;
    return TL_NOT_IMPLEMENTED();
}

/* The position was announced before: a captured step is replayed at other positions. */
static tl_status gradient_work(tl_trainer *tr, const tl_device_split *split, int n) {
    /* TODO(lab 5): Before: what is left of the last step must go, from the tape and from the
     * gradients. */
    TL_TRY(TL_NOT_IMPLEMENTED());
    TL_TRY(forward_batch(tr, split, n, true, &tr->loss));
    /* TODO(lab 5): After: from the loss back to the parameters. */
    return TL_NOT_IMPLEMENTED();
}

static tl_status step_work(tl_trainer *tr, const tl_device_split *split, int n) {
    /* TODO(lab 5): Gradients, then one step of the optimiser. */
    (void)tr, (void)split, (void)n;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_train_gradients(tl_trainer *tr, int n) {
    /* TODO(lab 5): The gradients of the next n images at the position of the run. Who must know
     * where the run stands before work is queued? */
    (void)gradient_work, (void)announce_step, (void)tr, (void)n;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_train_step(tl_trainer *tr, int n) {
    /* TODO(lab 5): One step: announce the position, let tl_trainer_run do step_work (it may replay
     * captured work: tl/train.h), then move the position by n images and one step. Trap: work that
     * was recorded is replayed as it is, so what changes from step to step must not be decided in
     * it. */
    (void)step_work, (void)tr, (void)n;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_train_epoch(tl_trainer *tr) {
    /* TODO(lab 5): The steps that are left of this epoch, from tr->first on: a run may go on in the
     * middle of one. The last batch is as large as there are images left. tr->sums starts from zero
     * only at the start of an epoch. After each step tr->on_step is called, if there is one; a
     * failure of it ends the epoch. At the end the position is the start of the next epoch. */
    (void)tr;
    return TL_NOT_IMPLEMENTED();
}

static tl_status evaluation_work(tl_trainer *tr, const tl_device_split *split, int n) {
    /* TODO(lab 5): One batch forward without leaving nodes. First what the last batch made is let
     * go: the tape owns it, recording or not. Recording must be afterwards what it was before, also
     * where forward fails. */
    (void)tr, (void)split, (void)n;
    return TL_NOT_IMPLEMENTED();
}

tl_status tl_evaluate(tl_trainer *tr, const tl_device_split *split, tl_metrics *result) {
    /* TODO(lab 5): Mean loss and accuracy over the whole split, batch by batch, the partial last
     * one included: sums from zero, for each batch its position announced and evaluation_work run
     * by tl_trainer_run, and the sums read once at the end (tl/metrics.h). Neither parameters nor
     * position change. */
    (void)evaluation_work, (void)tr, (void)split, (void)result;
    return TL_NOT_IMPLEMENTED();
}
