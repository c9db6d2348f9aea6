/* main_replay.c: `replay NAME=value … STEPS=n`: gradients for weights that another program sends.
 *
 * For each of the first n steps of the training order it reads all parameters from standard input
 * (in order of construction, tl_real, without gaps) and writes the loss (double) and all gradients
 * (same order and type) to standard output. It updates nothing itself: `make parity` compares
 * single steps in float, where two right programs drift apart if each follows its own weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

/* One host copy of the flat parameters, with their gaps. */
static tl_status read_weights(run *r, tl_real *host) {
    const tl_params *p = r->params;
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (!e->var) continue;
        size_t n = e->var->value->size;
        TL_NEED(fread(host + e->offset, sizeof *host, n, stdin) == n, TL_EIO,
                "standard input ended within the weights of %s", e->name);
    }
    return r->ctx->ops->copy_in(r->ctx, p->value, host, p->size * sizeof *host);
}

static tl_status write_gradients(run *r, tl_real *host) {
    const tl_params *p = r->params;
    tl_real loss;
    TL_TRY(tl_trainer_read_loss(&r->trainer, &loss));
    TL_TRY(r->ctx->ops->copy_out(r->ctx, host, p->grad, p->size * sizeof *host));
    double wide = (double)loss;
    bool good = fwrite(&wide, sizeof wide, 1, stdout) == 1;
    for (int i = 0; i < p->entries; i++) {
        const tl_param *e = &p->entry[i];
        if (!e->var) continue;
        size_t n = e->var->value->size;
        good = good && fwrite(host + e->offset, sizeof *host, n, stdout) == n;
    }
    TL_NEED(good && fflush(stdout) == 0, TL_EIO, "cannot write gradients to standard output");
    return TL_OK;
}

static tl_status replay_step(run *r, tl_real *host) {
    tl_trainer *tr = &r->trainer;
    uint32_t left = (uint32_t)tr->train.count - tr->first;
    int n = left < (uint32_t)tr->batch ? (int)left : tr->batch;
    TL_TRY(read_weights(r, host));
    TL_TRY(tl_train_gradients(tr, n));
    TL_TRY(write_gradients(r, host));
    tr->index++;
    tr->first += (uint32_t)n;
    if (tr->first == tr->train.count) {
        tr->first = 0;
        tr->epoch++;
    }
    return TL_OK;
}

static tl_status replay(run *r) {
    TL_NEED(r->o.steps > 0, TL_EINVAL, "replay needs STEPS=n, the number of steps");
    tl_real *host = calloc(r->params->size, sizeof *host);
    TL_NEED(host, TL_ENOMEM, "no memory for %zu weights", r->params->size);
    tl_status status = TL_OK;
    for (long i = 0; i < r->o.steps && status == TL_OK; i++) status = replay_step(r, host);
    free(host);
    return status;
}

int main(int argc, char **argv) { return run_program("replay", replay, argc, argv); }
