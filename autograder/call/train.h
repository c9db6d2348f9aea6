/* train.h: training programs: a net, its data and options, and what to do with them, as integers.
 *
 * The program: the header below, the layers as rows of four (kind of tl_layer_kind, out, pad, p in
 * thousandths) up to one of kind 0, and then instructions. In front of it TRAIN_NUMBERS doubles:
 * learning rate, factor of the schedule, momentum, weight decay, beta1, beta2, eps. Buffers:
 * results; values for TRAIN_LOAD; images (training set, then test set) and labels as bytes; the
 * table byte to value, [c,256]. */
#ifndef CALL_TRAIN_H
#define CALL_TRAIN_H

enum call_train_header {
    TRAIN_C,
    TRAIN_H,
    TRAIN_W,
    TRAIN_CLASSES,
    TRAIN_COUNT,      /* images to train on */
    TRAIN_TEST_COUNT, /* images to test on */
    TRAIN_BATCH,
    TRAIN_AUGMENT,
    TRAIN_PAD,
    TRAIN_SEED,
    TRAIN_ADAM, /* 0: SGD */
    TRAIN_NESTEROV,
    TRAIN_SCHEDULE, /* tl_schedule_kind */
    TRAIN_TURN,
    TRAIN_TOTAL,
    TRAIN_HEADER
};

enum { TRAIN_NUMBERS = 7, TRAIN_LAYER = 4, TRAIN_LAYERS = 16 };

enum call_train_code {
    TRAIN_LOAD = 1,      /* all parameters from buffer 1, in order, without gaps */
    TRAIN_GRADIENTS,     /* n: tl_train_gradients */
    TRAIN_STEP,          /* n: tl_train_step */
    TRAIN_EPOCH,         /* tl_train_epoch */
    TRAIN_EVALUATE,      /* 0 training set, 1 test set; gives loss, accuracy, count */
    TRAIN_READ_WEIGHTS,  /* gives the flat array, gaps included */
    TRAIN_READ_GRADS,    /* the same of the gradients */
    TRAIN_READ_SUMS,     /* gives loss, hits, count */
    TRAIN_READ_POSITION, /* gives epoch, first, index */
    TRAIN_GRAPH,         /* from here on captured steps are replayed, where the device can */
    TRAIN_INTERRUPT,     /* n: an epoch that on_step ends after n steps; an error if it goes on */
    TRAIN_READ_CALLS,    /* gives how often on_step was called, and for how many images in all */
    TRAIN_READ_MEMORY,   /* gives how many bytes of device memory are out */
    TRAIN_FAIL_EVALUATE, /* 0 or 1: an evaluation whose forward pass fails; an error if it goes on;
                          * gives whether the tape records afterwards, as it did before */
    TRAIN_READ_RECORDED, /* gives how many forward passes outside of training left a node */
    TRAIN_READ_COPIES,   /* gives how often evaluations copied to the host */
    TRAIN_READ_PEAK,     /* gives the most bytes of device memory that were out at once */
    TRAIN_NO_ON_STEP     /* from here on there is no on_step to be called */
};

#endif
