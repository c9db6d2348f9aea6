/* run.h: everything that one training run consists of, built from its options. */
#ifndef GRADLAB_RUN_H
#define GRADLAB_RUN_H

#include "options.h"
#include "tl/data.h"
#include "tl/train.h"

typedef struct run {
    options o;
    tl_dataset *data;
    tl_ctx *ctx;
    tl_module *net;
    tl_params *params;
    tl_trainer trainer; /* points to the above */
    uint64_t steps_per_epoch;
} run;

/* Opens the device, loads or generates the data set, uploads it, builds net and optimiser, and says
 * on stderr which data set and device were chosen. On failure everything is released. */
tl_status run_open(run *r, const options *o);
/* The line about the net, on stderr; how it is trained only where it is: what a checkpoint answers
 * has nothing to do with this call's epochs and rate. */
void run_say_net(const run *r, bool trains);
void run_close(run *r);

/* The whole of a program whose work is one run: options, run_open, `work`, run_close. Returns
 * main's exit status: 0, or 1 after one line on stderr, `name: why`. */
int run_program(const char *name, tl_status (*work)(run *r), int argc, char **argv);

/* Model name of the cpu, for results. */
const char *machine_name(void);

#endif
