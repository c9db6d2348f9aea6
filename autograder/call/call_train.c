/* call_train.c: runs a training program (train.h) on tl/train.h. */
#include "train.h"
#include "call_row.h"

#include <stdlib.h>
#include <string.h>

#include "tl/train.h"

typedef struct machine {
    tl_ctx *ctx;
    call_arguments *a;
    double number[TRAIN_NUMBERS]; /* of the program */
    tl_trainer tr;
    tl_layer layer[TRAIN_LAYERS + 1];
    int64_t steps, images, stop; /* that on_step has seen; it fails when so many are done */
    int64_t recorded;            /* passes of evaluation that left a node */
    int64_t copies;              /* of evaluations, to the host */
    const tl_backend *ops;       /* of the device, while an evaluation is watched */
    bool forward_fails;
    tl_status (*forward)(tl_module *, tl_tape *, tl_var **, tl_var *, bool); /* the net's own */
    size_t at;                                                               /* next integer */
    tl_real *in, *out;
    size_t in_count, in_used, out_count, out_used;
} machine;

/* Results are tl_real like all others: sums in double come back rounded once. */
static tl_status put(machine *m, double value) {
    TL_NEED(m->out_used < m->out_count, TL_EINVAL, "training program: too few result elements");
    m->out[m->out_used++] = (tl_real)value;
    return TL_OK;
}

/* The flat array is as long as the net makes it; the suite must have known. */
static tl_status put_array(machine *m, const tl_real *device, size_t n) {
    TL_NEED(n <= m->out_count - m->out_used, TL_EINVAL,
            "training program: the net has %zu elements, the results leave room for %zu", n,
            m->out_count - m->out_used);
    m->out_used += n;
    return m->ctx->ops->copy_out(m->ctx, m->out + m->out_used - n, device, n * sizeof *device);
}

/* Layers as tl/nets.h has them, so that the given tl_net_build makes the net. */
static tl_status read_layers(machine *m) {
    const call_arguments *a = m->a;
    m->at = TRAIN_HEADER;
    for (int i = 0; i <= TRAIN_LAYERS && m->at + TRAIN_LAYER <= a->integers; i++) {
        const int64_t *row = a->integer + m->at;
        m->at += TRAIN_LAYER;
        m->layer[i] = (tl_layer){.kind = (tl_layer_kind)row[0],
                                 .out = (int)row[1],
                                 .pad = (int)row[2],
                                 .p = (double)row[3] / 1000};
        if (row[0] == TL_LAYER_END) return TL_OK;
    }
    return TL_FAIL(TL_EINVAL, "training program: its layers do not end");
}

static int header(const machine *m, int i) { return (int)m->a->integer[i]; }

/* The split that starts at image `first` of buffers 2 and 3; memory stays the call's. */
static tl_device_split split_at(const machine *m, int first, int count) {
    size_t image =
        (size_t)header(m, TRAIN_C) * (size_t)header(m, TRAIN_H) * (size_t)header(m, TRAIN_W);
    return (tl_device_split){.count = (size_t)count,
                             .c = header(m, TRAIN_C),
                             .h = header(m, TRAIN_H),
                             .w = header(m, TRAIN_W),
                             .classes = header(m, TRAIN_CLASSES),
                             .images = (uint8_t *)m->a->slot[2] + (size_t)first * image,
                             .labels = (uint8_t *)m->a->slot[3] + first,
                             .lut = m->a->slot[4]};
}

static const char stopped[] = "stopped by on_step";

static tl_status on_step(tl_trainer *tr, int images, void *user) {
    machine *m = user;
    (void)tr;
    m->steps++;
    m->images += images;
    return m->steps == m->stop ? TL_FAIL(TL_EINVAL, "%s", stopped) : TL_OK;
}

static const char failed[] = "made to fail: the net's forward";
static machine *running; /* a module and a table have no place for a pointer of ours */

/* The net's forward, which also sees whether the tape takes down what nobody will go back over, and
 * fails where a program asks for that. */
static tl_status watched_forward(tl_module *net, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    TL_NEED(!running->forward_fails, TL_EINVAL, "%s", failed);
    TL_TRY(running->forward(net, t, y, x, training));
    running->recorded += !training && (*y)->node;
    return TL_OK;
}

/* In the order that tl/train.h asks for; release undoes as much of it as was done. */
static tl_status build(machine *m) {
    const double *number = m->number;
    tl_trainer *tr = &m->tr;
    const tl_net_spec spec = {.name = "call",
                              .c = header(m, TRAIN_C),
                              .h = header(m, TRAIN_H),
                              .w = header(m, TRAIN_W),
                              .layer = m->layer};
    *tr = (tl_trainer){.ctx = m->ctx,
                       .train = split_at(m, 0, header(m, TRAIN_COUNT)),
                       .test = split_at(m, header(m, TRAIN_COUNT), header(m, TRAIN_TEST_COUNT)),
                       .batch = header(m, TRAIN_BATCH),
                       .augment = header(m, TRAIN_AUGMENT),
                       .pad = header(m, TRAIN_PAD),
                       .seed = (uint64_t)m->a->integer[TRAIN_SEED],
                       .on_step = on_step,
                       .user = m};
    tr->optimizer.kind = header(m, TRAIN_ADAM) ? TL_OPTIMIZER_ADAM : TL_OPTIMIZER_SGD;
    tr->optimizer.sgd = (tl_sgd_options){number[2], number[3], header(m, TRAIN_NESTEROV)};
    tr->optimizer.adam = (tl_adam_options){number[4], number[5], number[6], number[3]};
    tr->schedule = (tl_schedule){.kind = (tl_schedule_kind)header(m, TRAIN_SCHEDULE),
                                 .base = number[0],
                                 .factor = number[1],
                                 .turn = (uint64_t)m->a->integer[TRAIN_TURN],
                                 .total = (uint64_t)m->a->integer[TRAIN_TOTAL]};
    TL_TRY(tl_net_build(&tr->net, m->ctx, &spec, tr->seed));
    TL_TRY(tl_params_new(&tr->params, tr->net));
    TL_TRY(tl_optimizer_init(&tr->optimizer, tr->params));
    m->forward = tr->net->forward;
    tr->net->forward = watched_forward;
    return tl_trainer_init(tr);
}

/* The suite's weights instead of drawn ones: nothing here depends on initialisation. */
static tl_status load(machine *m) {
    const tl_params *p = m->tr.params;
    for (int i = 0; i < p->entries; i++) {
        if (!p->entry[i].var) continue;
        tl_tensor *value = p->entry[i].var->value;
        TL_NEED(value->size <= m->in_count - m->in_used, TL_EINVAL,
                "training program: too few values for %s", p->entry[i].name);
        TL_TRY(tl_tensor_from_host(value, m->in + m->in_used));
        m->in_used += value->size;
    }
    return TL_OK;
}

static tl_status watched_copy_out(tl_ctx *ctx, void *host, const void *from, size_t bytes) {
    running->copies++;
    return running->ops->copy_out(ctx, host, from, bytes);
}

static tl_status evaluate(machine *m, int64_t which) {
    tl_metrics result;
    tl_backend watched = *m->ctx->ops;
    watched.copy_out = watched_copy_out;
    m->ops = m->ctx->ops;
    m->ctx->ops = &watched;
    tl_status status = tl_evaluate(&m->tr, which ? &m->tr.test : &m->tr.train, &result);
    m->ctx->ops = m->ops;
    TL_TRY(status);
    TL_TRY(put(m, result.loss));
    TL_TRY(put(m, result.accuracy));
    return put(m, (double)result.count);
}

/* The evaluation must end with the failure of forward, and with no other. */
static tl_status fail_evaluate(machine *m, int64_t which) {
    tl_metrics result;
    tl_tape_set_recording(m->tr.tape, true);
    m->forward_fails = true;
    tl_status status = tl_evaluate(&m->tr, which ? &m->tr.test : &m->tr.train, &result);
    m->forward_fails = false;
    TL_NEED(status != TL_OK, TL_EINVAL, "the evaluation went on though forward had failed");
    if (!strstr(tl_error(), failed)) return status;
    return put(m, tl_tape_set_recording(m->tr.tape, true));
}

static tl_status read_sums(machine *m) {
    tl_metric_sums sums;
    TL_TRY(m->ctx->ops->copy_out(m->ctx, &sums, m->tr.sums, sizeof sums));
    TL_TRY(put(m, sums.loss));
    TL_TRY(put(m, (double)sums.hits));
    return put(m, (double)sums.count);
}

static tl_status read_position(machine *m) {
    TL_TRY(put(m, m->tr.epoch));
    TL_TRY(put(m, m->tr.first));
    return put(m, (double)m->tr.index);
}

/* The epoch must end with the failure of on_step, and with no other. */
static tl_status interrupt(machine *m, int64_t after) {
    m->stop = m->steps + after;
    tl_status status = tl_train_epoch(&m->tr);
    TL_NEED(status != TL_OK, TL_EINVAL, "the epoch went on though on_step had failed");
    return strstr(tl_error(), stopped) ? TL_OK : status;
}

/* One instruction; takes its operand, if it has one, from the integers. */
static tl_status run_next(machine *m) {
    int64_t code = m->a->integer[m->at++];
    bool operand = code == TRAIN_GRADIENTS || code == TRAIN_STEP || code == TRAIN_EVALUATE ||
                   code == TRAIN_INTERRUPT || code == TRAIN_FAIL_EVALUATE;
    TL_NEED(!operand || m->at < m->a->integers, TL_EINVAL, "training program: it is cut off");
    int64_t o = operand ? m->a->integer[m->at++] : 0;
    const tl_params *p = m->tr.params;
    switch (code) {
    case TRAIN_LOAD:
        return load(m);
    case TRAIN_GRADIENTS:
        return tl_train_gradients(&m->tr, (int)o);
    case TRAIN_STEP:
        return tl_train_step(&m->tr, (int)o);
    case TRAIN_EPOCH:
        return tl_train_epoch(&m->tr);
    case TRAIN_EVALUATE:
        return evaluate(m, o);
    case TRAIN_READ_WEIGHTS:
        return put_array(m, p->value, p->size);
    case TRAIN_READ_GRADS:
        return put_array(m, p->grad, p->size);
    case TRAIN_READ_SUMS:
        return read_sums(m);
    case TRAIN_READ_POSITION:
        return read_position(m);
    case TRAIN_GRAPH:
        m->tr.graph = true;
        return TL_OK;
    case TRAIN_INTERRUPT:
        return interrupt(m, o);
    case TRAIN_NO_ON_STEP:
        m->tr.on_step = NULL;
        return TL_OK;
    case TRAIN_FAIL_EVALUATE:
        return fail_evaluate(m, o);
    case TRAIN_READ_MEMORY:
        return put(m, (double)tl_alloc_read_stats(m->ctx->alloc).live_bytes);
    case TRAIN_READ_PEAK:
        return put(m, (double)tl_alloc_read_stats(m->ctx->alloc).peak_bytes);
    case TRAIN_READ_RECORDED:
        return put(m, (double)m->recorded);
    case TRAIN_READ_COPIES:
        return put(m, (double)m->copies);
    case TRAIN_READ_CALLS:
        TL_TRY(put(m, (double)m->steps));
        return put(m, (double)m->images);
    }
    return TL_FAIL(TL_EINVAL, "training program: no instruction %lld", (long long)code);
}

/* As for graph programs: leftovers on either side are an error. */
static tl_status run(machine *m) {
    const call_arguments *a = m->a;
    if (m->in_count) TL_TRY(m->ctx->ops->copy_out(m->ctx, m->in, a->slot[1], a->slot_bytes[1]));
    TL_TRY(read_layers(m));
    TL_TRY(build(m));
    while (m->at < a->integers) TL_TRY(run_next(m));
    bool all = m->in_used == m->in_count && m->out_used == m->out_count;
    TL_NEED(all, TL_EINVAL, "training program: used %zu of %zu values, gave %zu of %zu results",
            m->in_used, m->in_count, m->out_used, m->out_count);
    return m->ctx->ops->copy_in(m->ctx, a->slot[0], m->out, a->slot_bytes[0]);
}

tl_status call_train_row(tl_ctx *ctx, call_arguments *a) {
    machine m = {.ctx = ctx, .a = a};
    running = &m;
    memcpy(m.number, a->bytes, sizeof m.number);
    a->integer += TRAIN_NUMBERS; /* where the program begins */
    a->integers -= TRAIN_NUMBERS;
    m.out_count = a->slot_bytes[0] / sizeof(tl_real);
    m.in_count = a->slot_bytes[1] / sizeof(tl_real);
    m.out = malloc(a->slot_bytes[0] + 1);
    m.in = malloc(a->slot_bytes[1] + 1);
    tl_status status = m.out && m.in ? run(&m) : TL_FAIL(TL_ENOMEM, "training program: no memory");
    tl_trainer_release(&m.tr);
    if (m.tr.ctx) tl_optimizer_release(&m.tr.optimizer, ctx);
    tl_module_free(m.tr.net);
    tl_params_free(m.tr.params);
    free(m.in);
    free(m.out);
    return status;
}
