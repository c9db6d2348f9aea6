/* step.c: work of one batch, run as it is or captured once and replayed (tl/train.h). */
#include "step.h"

#include <stdlib.h>

#include "tl/backend.h"

typedef struct tl_captured tl_captured;
struct tl_captured {
    tl_work work;
    const tl_device_split *split;
    int n;
    const tl_real *loss; /* where the work leaves its loss; NULL if it has none */
    void *graph;         /* NULL until the second run */
    tl_captured *next;
};

static tl_captured *find(const tl_trainer *tr, tl_work work, const tl_device_split *split, int n) {
    tl_captured *c = tr->captured;
    while (c && (c->work != work || c->split != split || c->n != n)) c = c->next;
    return c;
}

static tl_status add(tl_trainer *tr, tl_captured **made, tl_work work, const tl_device_split *split,
                     int n) {
    tl_captured *c = *made = calloc(1, sizeof *c);
    TL_NEED(c, TL_ENOMEM, "no host memory for a captured step");
    *c = (tl_captured){.work = work, .split = split, .n = n};
    tl_alloc_hold(tr->ctx->alloc);
    c->next = tr->captured;
    tr->captured = c;
    return TL_OK;
}

/* The work itself. Its memory is that of all captured work, which runs one after the other and
 * reads nothing that another has left; until then the number of its loss stays where it was. */
static tl_status run(tl_trainer *tr, tl_captured *c) {
    tl_tape_reset(tr->tape);
    tr->loss = NULL;
    tl_alloc_enter_step(tr->ctx->alloc);
    tl_status status = c->work(tr, c->split, c->n);
    tl_alloc_leave_step(tr->ctx->alloc);
    c->loss = tr->loss ? tr->loss->value->data : NULL;
    tl_tape_reset(tr->tape);
    tr->loss = NULL;
    return status;
}

/* The first run took all memory and made the device load what it needs, so that nothing but the
 * work itself happens while it is recorded. */
static tl_status capture(tl_trainer *tr, tl_captured *c) {
    const tl_backend *ops = tr->ctx->ops;
    TL_TRY(ops->graph_begin(tr->ctx));
    tl_status status = run(tr, c);
    if (status == TL_OK) return ops->graph_end(tr->ctx, &c->graph);
    ops->graph_end(tr->ctx, NULL);
    return status;
}

tl_status tl_trainer_run(tl_trainer *tr, tl_work work, const tl_device_split *split, int n) {
    const tl_backend *ops = tr->ctx->ops;
    tr->ran = NULL;
    if (!tr->graph || !ops->graph_begin) return work(tr, split, n);
    tl_captured *c = find(tr, work, split, n);
    if (!c) {
        TL_TRY(add(tr, &c, work, split, n));
        TL_TRY(run(tr, c));
    } else {
        if (!c->graph) TL_TRY(capture(tr, c));
        TL_TRY(ops->graph_launch(tr->ctx, c->graph));
    }
    tr->ran = c;
    return TL_OK;
}

tl_status tl_trainer_read_loss(tl_trainer *tr, tl_real *loss) {
    const tl_real *at = tr->ran ? tr->ran->loss : tr->loss ? tr->loss->value->data : NULL;
    TL_NEED(at, TL_EINVAL, "tl_trainer_read_loss: no step has left a loss");
    return tr->ctx->ops->copy_out(tr->ctx, loss, at, sizeof *loss);
}

void tl_captured_free(tl_trainer *tr) {
    while (tr->captured) {
        tl_captured *c = tr->captured;
        tr->captured = c->next;
        if (c->graph) tr->ctx->ops->graph_free(tr->ctx, c->graph);
        tl_alloc_release(tr->ctx->alloc);
        free(c);
    }
    tr->ran = NULL;
}
