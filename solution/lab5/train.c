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
}

/* The position was announced before: a captured step is replayed at other positions. */
static tl_status gradient_work(tl_trainer *tr, const tl_device_split *split, int n) {
    tl_tape_reset(tr->tape);
    TL_TRY(tl_params_zero_grad(tr->params));
    TL_TRY(forward_batch(tr, split, n, true, &tr->loss));
    return tl_tape_backward(tr->tape, tr->loss);
}

static tl_status step_work(tl_trainer *tr, const tl_device_split *split, int n) {
    TL_TRY(gradient_work(tr, split, n));
    return tl_optimizer_step(&tr->optimizer, tr->params);
}

tl_status tl_train_gradients(tl_trainer *tr, int n) {
    TL_TRY(announce_step(tr, tr->first));
    return gradient_work(tr, &tr->train, n);
}

tl_status tl_train_step(tl_trainer *tr, int n) {
    TL_TRY(announce_step(tr, tr->first));
    TL_TRY(tl_trainer_run(tr, step_work, &tr->train, n));
    tr->first += (uint32_t)n;
    tr->index++;
    return TL_OK;
}

tl_status tl_train_epoch(tl_trainer *tr) {
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
}

static tl_status evaluation_work(tl_trainer *tr, const tl_device_split *split, int n) {
    tl_var *loss;
    tl_tape_reset(tr->tape);
    bool recording = tl_tape_set_recording(tr->tape, false);
    tl_status status = forward_batch(tr, split, n, false, &loss);
    tl_tape_set_recording(tr->tape, recording);
    return status;
}

tl_status tl_evaluate(tl_trainer *tr, const tl_device_split *split, tl_metrics *result) {
    const uint32_t count = (uint32_t)split->count;
    TL_TRY(tr->ctx->ops->zero(tr->ctx, tr->sums, sizeof *tr->sums));
    for (uint32_t first = 0; first < count;) {
        int n = count - first < (uint32_t)tr->batch ? (int)(count - first) : tr->batch;
        TL_TRY(announce_step(tr, first));
        TL_TRY(tl_trainer_run(tr, evaluation_work, split, n));
        first += (uint32_t)n;
    }
    return tl_metrics_read(tr->ctx, result, tr->sums);
}
