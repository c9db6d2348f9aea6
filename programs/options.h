/* options.h: the NAME=value words that the training programs take, the same as on make's line. */
#ifndef GRADLAB_OPTIONS_H
#define GRADLAB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tl/nets.h"
#include "tl/precision.h"
#include "tl/train.h"

typedef struct options {
    const char *net, *device, *dataset, *opt, *sched, *aug, *rungs, *precision, *bits;
    const char *out, *resume, *plan; /* folders and files; NULL if not given */
    const char *data_root;           /* $GRADLAB_DATA, or "data" */
    long epochs, batch, threads, limit, steps, ckpt_every;
    bool nesterov, step_log, plan_only;
    bool graph;   /* capture a step and replay it, where the device can */
    bool profile; /* count calls, time, bytes and FLOPs of every operation; no graph then */
    double lr, momentum, wd;
    uint64_t seed;

    /* what follows from them */
    const tl_net_spec *spec;
    tl_optimizer optimizer;
    int augment, pad;
    tl_precision products;
} options;

/* Reads the words and fills every option, from the net's defaults where none was given. TL_EINVAL
 * names the word and the values it may take; --help alone prints all options and exits, --nets the
 * nets as lines of JSON. The strings of argv must outlive *o. */
tl_status options_parse(options *o, int count, char *const word[]);

/* SCHED as numbers, once the steps of an epoch are known. */
tl_status options_schedule(const options *o, tl_schedule *schedule, uint64_t steps_per_epoch);

/* Everything that the bits of a run depend on, apart from device and kernels, in one line. */
enum { OPTIONS_TEXT = 512, NET_WORDS = 512 };
void options_describe(const options *o, char text[OPTIONS_TEXT], const char *dataset);

#endif
