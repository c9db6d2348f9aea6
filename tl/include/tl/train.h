/* tl/train.h: the training loop and what it needs. (lab 5; the trainer program fills the struct)
 *
 * A step queues work on the device and reads nothing back; losses and hits are summed on the device
 * and read once per epoch. The position (epoch, first, index) says where the run stands, so a run
 * can stop after any step and go on later with the same bits. */
#ifndef TL_TRAIN_H
#define TL_TRAIN_H

#include "tl/history.h"
#include "tl/nets.h"
#include "tl/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_optimizer_kind { TL_OPTIMIZER_SGD, TL_OPTIMIZER_ADAM } tl_optimizer_kind;

typedef struct tl_optimizer {
    tl_optimizer_kind kind;
    tl_sgd_options sgd;
    tl_adam_options adam;
    tl_real *state[2]; /* device arrays as long as the flat parameters: velocity; or m and v */
    int states;
} tl_optimizer;

/* Given code. _init takes memory for the state, all zeros; options are checked. _step updates all
 * parameters with the learning rate and step number of ctx->step. */
tl_status tl_optimizer_init(tl_optimizer *o, const tl_params *p);
tl_status tl_optimizer_step(tl_optimizer *o, tl_params *p);
void tl_optimizer_release(tl_optimizer *o, tl_ctx *ctx);

typedef struct tl_trainer tl_trainer;

/* Work of one batch: queues operations on n images of the split at the position in *ctx->step. It
 * reads nothing back, and depends on nothing on the host that changes from batch to batch. */
typedef tl_status (*tl_work)(tl_trainer *tr, const tl_device_split *split, int n);

struct tl_trainer {
    tl_ctx *ctx;
    tl_module *net;
    tl_params *params;
    tl_optimizer optimizer;
    tl_schedule schedule;
    tl_tape *tape;
    tl_device_split train, test;
    int batch;        /* images of a full batch; the last one of an epoch may be smaller */
    int augment, pad; /* as in tl_batch_geom, for training batches */
    uint64_t seed;

    uint32_t epoch, first; /* position: next batch starts at image `first` of epoch `epoch` */
    uint64_t index;        /* optimiser steps done */
    tl_history history;    /* of the epochs done; whoever calls tl_train_epoch adds to it */

    /* device memory for one batch, made by tl_trainer_init */
    tl_tensor *x; /* [batch,c,h,w] */
    int32_t *label;
    tl_real *row_loss, *prob;
    tl_metric_sums *sums;
    tl_var *loss; /* of the training work that ran last; gone with the tape's next reset */

    bool graph;                   /* true: replay captured work where the device can */
    struct tl_captured *captured; /* owned; one per work, split and number of images */
    struct tl_captured *ran;      /* the one that ran last; NULL: the last work was not captured */

    /* Called after every step with the number of its images, for progress, logs and checkpoints;
     * the position has moved by them, but not to the next epoch. It may end the epoch early by any
     * status but TL_OK. NULL: nothing. */
    tl_status (*on_step)(tl_trainer *tr, int images, void *user);
    void *user;
};

/* Given code: takes the batch memory and the tape; needs ctx, net, params, train and batch to be
 * set. tl_trainer_release gives back what _init took and the history, not net, params or data. */
tl_status tl_trainer_init(tl_trainer *tr);
void tl_trainer_release(tl_trainer *tr);

/* Given code: work(tr, split, n), as it is; or with tr->graph, on a device that can, captured: the
 * first time it runs as it is, the second time it is recorded, and from then on only launched. What
 * it puts on tr->tape is gone behind it, and the memory goes to the next captured work and nobody
 * else (tl/alloc.h); the same bits come out either way. What changes from batch to batch must be in
 * *ctx->step before. */
tl_status tl_trainer_run(tl_trainer *tr, tl_work work, const tl_device_split *split, int n);

/* Given code: the mean loss of the step that ran last, for a log: one number, in *loss on the host.
 * It waits for the device. TL_EINVAL if no step ran. */
tl_status tl_trainer_read_loss(tl_trainer *tr, tl_real *loss);

/* The student's training loop (lab 5). */

/* Gradients of the mean loss over the next n images of the training order, at once and never
 * captured: writes *ctx->step for this position, zeroes gradients, loads the batch, runs forward
 * and backward, adds to tr->sums. */
tl_status tl_train_gradients(tl_trainer *tr, int n);
/* tl_train_gradients, then one optimiser step; moves the position by n images and one step. */
tl_status tl_train_step(tl_trainer *tr, int n);
/* All remaining steps of this epoch, the partial last batch included; then the position is the
 * start of the next epoch. tr->sums is zeroed only if the epoch starts at first == 0. */
tl_status tl_train_epoch(tl_trainer *tr);
/* Mean loss and accuracy over a whole split, without recording and with dropout and batch norm in
 * evaluation mode. Changes neither parameters nor position; uses tr->sums, and reads them once, at
 * the end, not after each batch. */
tl_status tl_evaluate(tl_trainer *tr, const tl_device_split *split, tl_metrics *result);

#ifdef __cplusplus
}
#endif
#endif
