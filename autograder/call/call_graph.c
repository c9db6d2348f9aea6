/* call_graph.c: runs an autograd program (graph.h) on tl/tape.h: leaves, backward, reading. */
#include "graph_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_steps.h"

tl_status graph_var(graph_machine *m, int64_t v, tl_var **var) {
    bool there = v >= 0 && (size_t)v < m->variables && m->variable[v].var;
    TL_NEED(there, TL_EINVAL, "graph program: there is no variable %lld", (long long)v);
    *var = m->variable[v].var;
    return TL_OK;
}

/* Numbers follow the order of the program: the suite counts along. */
tl_status graph_push(graph_machine *m, graph_variable variable) {
    if (m->variables == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 64;
        graph_variable *more = realloc(m->variable, capacity * sizeof *more);
        TL_NEED(more, TL_ENOMEM, "graph program: no memory for %zu variables", capacity);
        m->variable = more;
        m->capacity = capacity;
    }
    m->variable[m->variables++] = variable;
    return TL_OK;
}

tl_status graph_scratch(graph_machine *m, void **block, size_t bytes) {
    void **more = realloc(m->scratch, (m->scratches + 1) * sizeof *more);
    TL_NEED(more, TL_ENOMEM, "graph program: no memory for scratch");
    m->scratch = more;
    TL_TRY(tl_alloc_get(m->ctx->alloc, block, bytes));
    m->scratch[m->scratches++] = *block;
    return TL_OK;
}

/* Too few values is an error of the suite, said in words, not read past the end. */
tl_status graph_load(graph_machine *m, tl_tensor *t) {
    TL_NEED(t->size <= m->in_count - m->in_used, TL_EINVAL, "graph program: too few leaf values");
    TL_TRY(m->ctx->ops->copy_in(m->ctx, t->data, m->in + m->in_used, t->size * sizeof(tl_real)));
    m->in_used += t->size;
    return TL_OK;
}

tl_status graph_put(graph_machine *m, double value) {
    TL_NEED(m->out_used < m->out_count, TL_EINVAL, "graph program: too few result elements");
    m->out[m->out_used++] = (tl_real)value;
    return TL_OK;
}

/* A leaf's tensor, filled. On failure nothing is left. */
static tl_status new_leaf(graph_machine *m, tl_tensor **t, const int64_t *shape) {
    int dim[TL_MAX_DIMS];
    for (int i = 0; i < TL_MAX_DIMS; i++) dim[i] = (int)shape[1 + i];
    TL_TRY(tl_tensor_new(t, m->ctx, (int)shape[0], dim));
    tl_status status = graph_load(m, *t);
    if (status != TL_OK) tl_tensor_free(*t);
    return status;
}

/* Running statistics: a tensor that no variable wraps. */
static tl_status run_buffer(graph_machine *m, const int64_t *o) {
    tl_tensor *t = NULL;
    TL_TRY(new_leaf(m, &t, o));
    tl_status status = graph_push(m, (graph_variable){.own = t, .buffer = t});
    if (status != TL_OK) tl_tensor_free(t);
    return status;
}

static tl_status run_input(graph_machine *m, const int64_t *o) {
    TL_TRY(run_buffer(m, o + 1)); /* pushed at once, so that it is freed whatever follows */
    graph_variable *v = &m->variable[m->variables - 1];
    tl_tensor *t = v->own;
    v->buffer = NULL;
    return tl_tape_wrap(m->tape, &v->var, t, t->ndim, t->dim, o[0] != 0);
}

/* As tl/tape.h has parameters: made elsewhere, gradient there from the start, outliving the tape.
 */
static tl_status run_parameter(graph_machine *m, const int64_t *o) {
    TL_TRY(run_buffer(m, o));
    graph_variable *v = &m->variable[m->variables - 1];
    v->buffer = NULL;
    v->leaf = calloc(1, sizeof *v->leaf);
    TL_NEED(v->leaf, TL_ENOMEM, "graph program: no memory for a parameter");
    v->leaf->value = v->own;
    v->leaf->needs_grad = true;
    v->var = v->leaf;
    TL_TRY(tl_tensor_new(&v->leaf->grad, m->ctx, v->own->ndim, v->own->dim));
    return m->ctx->ops->zero(m->ctx, v->leaf->grad->data, v->own->size * sizeof(tl_real));
}

static tl_status run_recording(graph_machine *m, const int64_t *o) {
    tl_tape_set_recording(m->tape, o[0] != 0);
    return TL_OK;
}

static tl_status run_step(graph_machine *m, const int64_t *o) {
    const tl_step step = {.seed = (uint64_t)o[0], .index = (uint64_t)o[1]};
    return m->ctx->ops->step_set(m->ctx, &step);
}

static tl_status run_backward(graph_machine *m, const int64_t *o) {
    tl_var *loss = NULL;
    TL_TRY(graph_var(m, o[0], &loss));
    return tl_tape_backward(m->tape, loss);
}

static tl_status run_zero_grad(graph_machine *m, const int64_t *o) {
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    TL_NEED(v->grad, TL_EINVAL, "graph program: variable %lld has no gradient", (long long)o[0]);
    return m->ctx->ops->zero(m->ctx, v->grad->data, v->grad->size * sizeof(tl_real));
}

/* What the tape owned is gone: a later instruction that names it is refused, not followed. */
static tl_status run_reset(graph_machine *m, const int64_t *o) {
    (void)o;
    tl_tape_reset(m->tape);
    for (size_t i = 0; i < m->variables; i++) {
        graph_variable *v = &m->variable[i];
        if (!v->leaf && !v->buffer && !v->of_net) v->var = NULL;
    }
    return TL_OK;
}

static tl_status read_tensor(graph_machine *m, const tl_tensor *t) {
    TL_NEED(t->size <= m->out_count - m->out_used, TL_EINVAL, "graph program: too few results");
    tl_real *to = m->out + m->out_used;
    m->out_used += t->size;
    return m->ctx->ops->copy_out(m->ctx, to, t->data, t->size * sizeof(tl_real));
}

static tl_status run_read_value(graph_machine *m, const int64_t *o) {
    if (o[0] >= 0 && (size_t)o[0] < m->variables && m->variable[o[0]].buffer)
        return read_tensor(m, m->variable[o[0]].buffer);
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    return read_tensor(m, v->value);
}

/* Zeros stand for a gradient that never came; READ_FLAGS tells the difference. */
static tl_status run_read_grad(graph_machine *m, const int64_t *o) {
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    if (v->grad) return read_tensor(m, v->grad);
    for (size_t i = 0; i < v->value->size; i++) TL_TRY(graph_put(m, 0));
    return TL_OK;
}

static tl_status run_read_flags(graph_machine *m, const int64_t *o) {
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    TL_TRY(graph_put(m, v->grad != NULL));
    TL_TRY(graph_put(m, v->needs_grad));
    return graph_put(m, v->node != NULL);
}

static tl_status run_read_shape(graph_machine *m, const int64_t *o) {
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    TL_TRY(graph_put(m, v->grad ? v->grad->ndim : 0));
    for (int i = 0; i < TL_MAX_DIMS; i++) TL_TRY(graph_put(m, v->grad ? v->grad->dim[i] : 0));
    return TL_OK;
}

static tl_status run_read_op(graph_machine *m, const int64_t *o) {
    char name[GRAPH_NAME] = "";
    tl_var *v = NULL;
    TL_TRY(graph_var(m, o[0], &v));
    if (v->node && v->node->op) snprintf(name, sizeof name, "%s", v->node->op);
    for (int i = 0; i < GRAPH_NAME; i++) TL_TRY(graph_put(m, (unsigned char)name[i]));
    return TL_OK;
}

static const graph_row rows[GRAPH_CODES] = {
    [GRAPH_PARAMETER] = {5, run_parameter},
    [GRAPH_INPUT] = {6, run_input},
    [GRAPH_BUFFER] = {5, run_buffer},
    [GRAPH_RECORDING] = {1, run_recording},
    [GRAPH_STEP] = {2, run_step},
    [GRAPH_BACKWARD] = {1, run_backward},
    [GRAPH_ZERO_GRAD] = {1, run_zero_grad},
    [GRAPH_RESET] = {0, run_reset},
    [GRAPH_READ_VALUE] = {1, run_read_value},
    [GRAPH_READ_GRAD] = {1, run_read_grad},
    [GRAPH_READ_FLAGS] = {1, run_read_flags},
    [GRAPH_READ_SHAPE] = {1, run_read_shape},
    [GRAPH_READ_OP] = {1, run_read_op},
};

/* What belongs into a step of training, and so only queues work: operations and backward. */
static bool is_of_a_step(int64_t code) {
    return (code >= GRAPH_ADD && code <= GRAPH_DROPOUT) || code == GRAPH_BACKWARD ||
           code == GRAPH_NET_FORWARD;
}

/* All values taken and all results given, or suite and program disagree on a shape. */
static tl_status run_program(graph_machine *m) {
    const call_arguments *a = m->a;
    TL_TRY(tl_tape_new(&m->tape, m->ctx));
    for (size_t at = 0; at < a->integers;) {
        int64_t code = a->integer[at++];
        TL_NEED(code > 0 && code < GRAPH_CODES, TL_EINVAL, "graph program: no instruction %lld",
                (long long)code);
        graph_row row = rows[code].run ? rows[code] : graph_op_row(code);
        bool whole = row.run && a->integers - at >= (size_t)row.operands;
        TL_NEED(whole, TL_EINVAL, "graph program: instruction %lld is cut off", (long long)code);
        call_set_in_step(is_of_a_step(code));
        tl_status status = row.run(m, a->integer + at);
        call_set_in_step(false);
        TL_TRY(status);
        at += (size_t)row.operands;
    }
    bool all = m->in_used == m->in_count && m->out_used == m->out_count;
    TL_NEED(all, TL_EINVAL, "graph program: used %zu of %zu values, gave %zu of %zu results",
            m->in_used, m->in_count, m->out_used, m->out_count);
    return TL_OK;
}

/* In any state a program can stop in. The tape first: its variables refer to leaves and net. */
static void release(graph_machine *m) {
    tl_tape_free(m->tape);
    tl_module_free(m->net);
    for (size_t i = 0; i < m->variables; i++) {
        graph_variable *v = &m->variable[i];
        if (v->leaf) tl_tensor_free(v->leaf->grad);
        free(v->leaf);
        tl_tensor_free(v->own);
    }
    /* blocks that this machine got: putting them back cannot fail */
    for (size_t i = 0; i < m->scratches; i++) (void)tl_alloc_put(m->ctx->alloc, m->scratch[i]);
    free(m->scratch);
    free(m->variable);
}

/* buffers: results, leaf values, labels */
tl_status call_graph_row(tl_ctx *ctx, call_arguments *a) {
    graph_machine m = {.ctx = ctx, .a = a};
    m.out_count = a->slot_bytes[0] / sizeof(tl_real);
    m.in_count = a->slot_bytes[1] / sizeof(tl_real);
    m.out = malloc(a->slot_bytes[0] + 1);
    m.in = malloc(a->slot_bytes[1] + 1);
    tl_status status = TL_OK;
    if (!m.out || !m.in) status = TL_FAIL(TL_ENOMEM, "graph program: no memory for its buffers");
    if (status == TL_OK && m.in_count)
        status = ctx->ops->copy_out(ctx, m.in, a->slot[1], a->slot_bytes[1]);
    if (status == TL_OK) status = run_program(&m);
    if (status == TL_OK && m.out_count)
        status = ctx->ops->copy_in(ctx, a->slot[0], m.out, a->slot_bytes[0]);
    release(&m);
    free(m.in);
    free(m.out);
    return status;
}
