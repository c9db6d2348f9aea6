/* call_graph_ops.c: operations and modules of graph programs. */
#include "graph_machine.h"

#include <stdio.h>

#include "tl/block.h"
#include "tl/own.h"

/* Fetches operands that are variables; -1 is "none" where the operation allows it. */
#define VARIABLE(name, operand)                                                                    \
    tl_var *name = NULL;                                                                           \
    TL_TRY(graph_var(m, o[operand], &name))
#define OPTIONAL_VARIABLE(name, operand)                                                           \
    tl_var *name = NULL;                                                                           \
    if (o[operand] >= 0) TL_TRY(graph_var(m, o[operand], &name))

/* Fractions cross as two integers. */
static double fraction(const int64_t *o) { return (double)o[0] / (double)o[1]; }

/* The tape owns what an operation made; the machine only numbers it. */
static tl_status push_result(graph_machine *m, tl_var *y) {
    return graph_push(m, (graph_variable){.var = y});
}

static tl_status run_add(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(a, 0);
    VARIABLE(b, 1);
    TL_TRY(tl_op_add(m->tape, &y, a, b));
    return push_result(m, y);
}

static tl_status run_mul(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(a, 0);
    VARIABLE(b, 1);
    TL_TRY(tl_op_mul(m->tape, &y, a, b));
    return push_result(m, y);
}

static tl_status run_scale(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_TRY(tl_op_scale(m->tape, &y, x, fraction(o + 1)));
    return push_result(m, y);
}

static tl_status run_sum(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_TRY(tl_op_sum(m->tape, &y, x));
    return push_result(m, y);
}

static tl_status run_mean(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_TRY(tl_op_mean(m->tape, &y, x));
    return push_result(m, y);
}

static tl_status run_matmul(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(a, 0);
    VARIABLE(b, 1);
    TL_TRY(tl_op_matmul(m->tape, &y, a, b));
    return push_result(m, y);
}

static tl_status run_reshape(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    int dim[TL_MAX_DIMS];
    for (int i = 0; i < TL_MAX_DIMS; i++) dim[i] = (int)o[2 + i];
    TL_TRY(tl_op_reshape(m->tape, &y, x, (int)o[1], dim));
    return push_result(m, y);
}

static tl_status run_relu(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_TRY(tl_op_relu(m->tape, &y, x));
    return push_result(m, y);
}

static tl_status run_linear(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    VARIABLE(w, 1);
    OPTIONAL_VARIABLE(b, 2);
    TL_TRY(tl_op_linear(m->tape, &y, x, w, b));
    return push_result(m, y);
}

static tl_status run_linear_relu(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    VARIABLE(w, 1);
    OPTIONAL_VARIABLE(b, 2);
    TL_TRY(tl_op_linear_relu(m->tape, &y, x, w, b));
    return push_result(m, y);
}

/* The shape is part of the contract, and who reads the result takes it for granted. */
static tl_status run_own(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(a, 0);
    VARIABLE(b, 1);
    TL_TRY(tl_own(m->tape, &y, a, b));
    TL_NEED(tl_tensor_same_shape(y->value, a->value), TL_ESHAPE, "y of tl_own has not a's shape");
    return push_result(m, y);
}

/* Sizes come from the operands; only what they do not tell crosses. */
static tl_conv2d_geom conv2d_attributes(const int64_t *o) {
    return (tl_conv2d_geom){.stride_h = (int)o[0],
                            .stride_w = (int)o[1],
                            .pad_h = (int)o[2],
                            .pad_w = (int)o[3],
                            .dil_h = (int)o[4],
                            .dil_w = (int)o[5]};
}

static tl_pool2d_geom pool2d_attributes(const int64_t *o) {
    return (tl_pool2d_geom){.r = (int)o[0],
                            .s = (int)o[1],
                            .stride_h = (int)o[2],
                            .stride_w = (int)o[3],
                            .pad_h = (int)o[4],
                            .pad_w = (int)o[5]};
}

static tl_status run_conv2d(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    VARIABLE(w, 1);
    OPTIONAL_VARIABLE(b, 2);
    const tl_conv2d_geom attributes = conv2d_attributes(o + 3);
    TL_TRY(tl_op_conv2d(m->tape, &y, x, w, b, &attributes));
    return push_result(m, y);
}

static tl_status run_maxpool2d(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    const tl_pool2d_geom attributes = pool2d_attributes(o + 1);
    TL_TRY(tl_op_maxpool2d(m->tape, &y, x, &attributes));
    return push_result(m, y);
}

/* Labels lie in device memory already: the next ones of buffer 2, where backward finds them too. */
static tl_status run_softmax(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    size_t rows = (size_t)x->value->dim[0], classes = (size_t)x->value->dim[1];
    size_t labels = m->a->slot_bytes[2] / sizeof(int32_t);
    TL_NEED(rows <= labels - m->labels_used, TL_EINVAL, "graph program: too few labels");
    const int32_t *label = (const int32_t *)m->a->slot[2] + m->labels_used;
    m->labels_used += rows;
    void *row_loss, *prob;
    TL_TRY(graph_scratch(m, &row_loss, rows * sizeof(tl_real)));
    TL_TRY(graph_scratch(m, &prob, rows * classes * sizeof(tl_real)));
    TL_TRY(tl_op_softmax_xent(m->tape, &y, x, label, row_loss, prob));
    return push_result(m, y);
}

/* Running statistics are bare tensors, which no gradient reaches. */
static tl_status run_batchnorm(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    VARIABLE(gamma, 1);
    VARIABLE(beta, 2);
    for (int i = 3; i <= 4; i++) {
        bool buffer = o[i] >= 0 && (size_t)o[i] < m->variables && m->variable[o[i]].buffer;
        TL_NEED(buffer, TL_EINVAL, "graph program: variable %lld is no buffer", (long long)o[i]);
    }
    TL_TRY(tl_op_batchnorm(m->tape, &y, x, gamma, beta, m->variable[o[3]].buffer,
                           m->variable[o[4]].buffer, fraction(o + 5), fraction(o + 7), o[9] != 0));
    return push_result(m, y);
}

static tl_status run_dropout(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_TRY(tl_op_dropout(m->tape, &y, x, fraction(o + 1), (uint32_t)o[3]));
    return push_result(m, y);
}

/* ---- modules ---- */

/* The sequential owns its children, also one that could not be appended. */
static tl_status append(graph_machine *m, tl_module *module) {
    if (!m->net) {
        tl_status status = tl_module_sequential(&m->net, m->ctx);
        if (status != TL_OK) {
            tl_module_free(module);
            return status;
        }
    }
    return tl_module_append(m->net, module);
}

/* The net so far as the first child of what `make` makes. */
static tl_status enclose(graph_machine *m, tl_status (*make)(tl_module **, tl_ctx *)) {
    tl_module *inner = m->net;
    m->net = NULL;
    tl_status status = make(&m->net, m->ctx);
    if (status != TL_OK) {
        tl_module_free(inner);
        return status;
    }
    return inner ? tl_module_append(m->net, inner) : TL_OK;
}

static tl_status net_nest(graph_machine *m, const int64_t *o) {
    (void)o;
    return enclose(m, tl_module_sequential);
}

static tl_status net_block(graph_machine *m, const int64_t *o) {
    (void)o;
    return enclose(m, tl_module_block);
}

static tl_status net_conv2d(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    tl_conv2d_geom attributes = conv2d_attributes(o + 4);
    attributes.c = (int)o[0];
    attributes.k = (int)o[1];
    attributes.r = (int)o[2];
    attributes.s = (int)o[3];
    TL_TRY(tl_module_conv2d(&module, m->ctx, &attributes, &m->seed));
    return append(m, module);
}

static tl_status net_linear(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    TL_TRY(tl_module_linear(&module, m->ctx, (int)o[0], (int)o[1], &m->seed));
    return append(m, module);
}

static tl_status net_maxpool2d(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    const tl_pool2d_geom attributes = pool2d_attributes(o);
    TL_TRY(tl_module_maxpool2d(&module, m->ctx, &attributes));
    return append(m, module);
}

static tl_status net_relu(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    (void)o;
    TL_TRY(tl_module_relu(&module, m->ctx));
    return append(m, module);
}

static tl_status net_flatten(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    (void)o;
    TL_TRY(tl_module_flatten(&module, m->ctx));
    return append(m, module);
}

static tl_status net_batchnorm2d(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    TL_TRY(tl_module_batchnorm2d(&module, m->ctx, (int)o[0]));
    return append(m, module);
}

static tl_status net_dropout(graph_machine *m, const int64_t *o) {
    tl_module *module = NULL;
    TL_TRY(tl_module_dropout(&module, m->ctx, fraction(o), (uint32_t)o[2]));
    return append(m, module);
}

static tl_status net_seed(graph_machine *m, const int64_t *o) {
    m->seed = (tl_module_seed){.seed = (uint64_t)o[0]};
    return TL_OK;
}

/* Parameters may be loaded before or after: forward reads what they hold now. */
static tl_status net_forward(graph_machine *m, const int64_t *o) {
    tl_var *y = NULL;
    VARIABLE(x, 0);
    TL_NEED(m->net, TL_EINVAL, "graph program: there is no net yet");
    TL_TRY(tl_module_forward(m->net, m->tape, &y, x, o[1] != 0));
    return push_result(m, y);
}

/* What a walk over the net's parameters and buffers looks for, and what it counts. */
typedef struct walk {
    int64_t want, seen, parameters;
    tl_var *param;
    tl_tensor *buffer;
    char name[GRAPH_NAME];
} walk;

/* Counts on to the end, so that one walk serves net_parameter and net_count. */
static tl_status visit(void *user, const char *name, tl_var *param, tl_tensor *buffer) {
    walk *w = user;
    TL_NEED(!param != !buffer, TL_EINVAL, "%s is both parameter and buffer, or neither", name);
    if (w->seen == w->want) {
        w->param = param;
        w->buffer = buffer;
        snprintf(w->name, sizeof w->name, "%s", name);
    }
    w->seen++;
    w->parameters += param != NULL;
    return TL_OK;
}

static tl_status found(const walk *w) {
    TL_NEED(w->param || w->buffer, TL_EINVAL,
            "tl_module_visit showed %lld parameters and buffers of the net, and no number %lld",
            (long long)w->seen, (long long)w->want);
    return TL_OK;
}

/* The net keeps what it owns: the machine must not free it, nor RESET forget it. */
static tl_status net_parameter(graph_machine *m, const int64_t *o) {
    walk w = {.want = o[0]};
    TL_NEED(m->net, TL_EINVAL, "graph program: there is no net yet");
    TL_TRY(tl_module_visit(m->net, visit, &w));
    TL_TRY(found(&w));
    if (o[1]) TL_TRY(graph_load(m, w.param ? w.param->value : w.buffer));
    return graph_push(m, (graph_variable){.var = w.param, .buffer = w.buffer, .of_net = true});
}

/* A visitor that wants no more than so many. */
typedef struct refusal {
    int64_t wanted, shown;
} refusal;

static tl_status refuse(void *user, const char *name, tl_var *param, tl_tensor *buffer) {
    (void)name, (void)param, (void)buffer;
    refusal *r = user;
    return ++r->shown > r->wanted ? TL_ENOMEM : TL_OK;
}

static tl_status net_count(graph_machine *m, const int64_t *o) {
    (void)o;
    walk w = {.want = -1};
    TL_NEED(m->net, TL_EINVAL, "graph program: there is no net yet");
    TL_TRY(tl_module_visit(m->net, visit, &w));
    for (int64_t k = 0; k < w.seen; k++) {
        refusal r = {.wanted = k};
        TL_NEED(tl_module_visit(m->net, refuse, &r) == TL_ENOMEM && r.shown == k + 1, TL_EINVAL,
                "visit number %lld failed, and tl_module_visit went on or said that all was well",
                (long long)k);
    }
    TL_TRY(graph_put(m, (double)w.seen));
    return graph_put(m, (double)w.parameters);
}

static tl_status net_name(graph_machine *m, const int64_t *o) {
    walk w = {.want = o[0]};
    TL_NEED(m->net, TL_EINVAL, "graph program: there is no net yet");
    TL_TRY(tl_module_visit(m->net, visit, &w));
    TL_TRY(found(&w));
    for (int i = 0; i < GRAPH_NAME; i++) TL_TRY(graph_put(m, (unsigned char)w.name[i]));
    return TL_OK;
}

static const graph_row rows[GRAPH_CODES] = {
    [GRAPH_ADD] = {2, run_add},
    [GRAPH_MUL] = {2, run_mul},
    [GRAPH_SCALE] = {3, run_scale},
    [GRAPH_SUM] = {1, run_sum},
    [GRAPH_MEAN] = {1, run_mean},
    [GRAPH_MATMUL] = {2, run_matmul},
    [GRAPH_RESHAPE] = {6, run_reshape},
    [GRAPH_RELU] = {1, run_relu},
    [GRAPH_LINEAR] = {3, run_linear},
    [GRAPH_LINEAR_RELU] = {3, run_linear_relu},
    [GRAPH_OWN] = {2, run_own},
    [GRAPH_CONV2D] = {9, run_conv2d},
    [GRAPH_MAXPOOL2D] = {7, run_maxpool2d},
    [GRAPH_SOFTMAX] = {1, run_softmax},
    [GRAPH_BATCHNORM] = {10, run_batchnorm},
    [GRAPH_DROPOUT] = {4, run_dropout},
    [GRAPH_NET_CONV2D] = {10, net_conv2d},
    [GRAPH_NET_LINEAR] = {2, net_linear},
    [GRAPH_NET_MAXPOOL2D] = {6, net_maxpool2d},
    [GRAPH_NET_RELU] = {0, net_relu},
    [GRAPH_NET_FLATTEN] = {0, net_flatten},
    [GRAPH_NET_BATCHNORM2D] = {1, net_batchnorm2d},
    [GRAPH_NET_DROPOUT] = {3, net_dropout},
    [GRAPH_NET_SEED] = {1, net_seed},
    [GRAPH_NET_FORWARD] = {2, net_forward},
    [GRAPH_NET_PARAMETER] = {2, net_parameter},
    [GRAPH_NET_COUNT] = {0, net_count},
    [GRAPH_NET_NAME] = {1, net_name},
    [GRAPH_NET_NEST] = {0, net_nest},
    [GRAPH_NET_BLOCK] = {0, net_block},
};

graph_row graph_op_row(int64_t code) { return rows[code]; }
