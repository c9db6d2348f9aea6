/* lab4.c: two spirals, told apart by a net that your tape has differentiated (show.h).
 *
 * Your modules and rules make the gradients; the step with momentum is the host's. What the tape
 * holds at the end is drawn by show_tape (tape.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "show.h"
#include "tape.h"
#include "tl/device.h"
#include "tl/params.h"

enum { ARM = 100, POINTS = 2 * ARM, WIDTH = 32, STEPS = 600, ACROSS = 64, DOWN = 56 };
static const double rate = 0.1, momentum = 0.9, edge = 1.2; /* of the plane that is drawn */

typedef struct spirals {
    tl_real point[POINTS * 2];
    int32_t label[POINTS];
    tl_module *net;
    tl_params *params;
    tl_tape *tape;
    tl_tensor *x;
    tl_real *row_loss, *prob;
    int32_t *on_device; /* the labels */
    tl_real *host;      /* value, gradient and velocity of the parameters */
} spirals;

/* Two arms of one and a half turns, a little shaken. */
static void draw_arms(const show *s, spirals *m) {
    for (int i = 0; i < POINTS; i++) {
        int arm = i % 2, at = i / 2;
        double r = 0.1 + 0.9 * at / ARM, turn = 3 * M_PI * r + arm * M_PI;
        m->point[2 * i] = (tl_real)(r * cos(turn) + 0.02 * show_draw(s, 7, (uint64_t)i));
        m->point[2 * i + 1] = (tl_real)(r * sin(turn) + 0.02 * show_draw(s, 8, (uint64_t)i));
        m->label[i] = arm;
    }
}

static tl_status append_linear(spirals *m, tl_ctx *ctx, int in, int out, tl_module_seed *seed) {
    tl_module *layer;
    TL_TRY(tl_module_linear(&layer, ctx, in, out, seed));
    return tl_module_append(m->net, layer);
}

static tl_status append_relu(spirals *m, tl_ctx *ctx) {
    tl_module *layer;
    TL_TRY(tl_module_relu(&layer, ctx));
    return tl_module_append(m->net, layer);
}

static tl_status make_net(const show *s, spirals *m) {
    tl_module_seed seed = {.seed = s->seed};
    TL_TRY(tl_module_sequential(&m->net, s->ctx));
    TL_TRY(append_linear(m, s->ctx, 2, WIDTH, &seed));
    TL_TRY(append_relu(m, s->ctx));
    TL_TRY(append_linear(m, s->ctx, WIDTH, WIDTH, &seed));
    TL_TRY(append_relu(m, s->ctx));
    TL_TRY(append_linear(m, s->ctx, WIDTH, 2, &seed));
    TL_TRY(tl_params_new(&m->params, m->net));
    m->host = calloc(3 * m->params->size, sizeof *m->host);
    TL_NEED(m->host, TL_ENOMEM, "no memory for %zu parameters", m->params->size);
    return TL_OK;
}

static tl_status make_arrays(show *s, spirals *m) {
    void *labels;
    TL_TRY(tl_tensor_new(&m->x, s->ctx, 2, (int[]){POINTS, 2}));
    TL_TRY(tl_tensor_from_host(m->x, m->point));
    TL_TRY(show_bytes(s, &labels, sizeof m->label, m->label));
    m->on_device = labels;
    TL_TRY(show_array(s, &m->row_loss, POINTS, NULL));
    TL_TRY(show_array(s, &m->prob, 2 * POINTS, NULL));
    return tl_tape_new(&m->tape, s->ctx);
}

/* Leaves the tape of this step. */
static tl_status gradients(const spirals *m, tl_var **loss) {
    tl_var *x, *logits;
    tl_tape_reset(m->tape);
    TL_TRY(tl_params_zero_grad(m->params));
    TL_TRY(tl_tape_wrap(m->tape, &x, m->x, 2, (int[]){POINTS, 2}, false));
    TL_TRY(tl_module_forward(m->net, m->tape, &logits, x, true));
    TL_TRY(tl_op_softmax_xent(m->tape, loss, logits, m->on_device, m->row_loss, m->prob));
    return tl_tape_backward(m->tape, *loss);
}

static tl_status step(const show *s, const spirals *m) {
    size_t n = m->params->size;
    tl_real *value = m->host, *grad = value + n, *velocity = grad + n;
    TL_TRY(show_get(s, value, m->params->value, n));
    TL_TRY(show_get(s, grad, m->params->grad, n));
    for (size_t i = 0; i < n; i++) {
        velocity[i] = (tl_real)(momentum * (double)velocity[i] - rate * (double)grad[i]);
        value[i] += velocity[i];
    }
    return show_put(s, m->params->value, value, n);
}

static tl_status learn(const show *s, const spirals *m, double loss[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        tl_var *now;
        tl_real value;
        TL_TRY(gradients(m, &now));
        TL_TRY(tl_tensor_to_host(now->value, &value));
        loss[i] = (double)value;
        TL_TRY(step(s, m));
    }
    return TL_OK;
}

/* How sure the net is of the second arm, from 0 to 1, at each of n points. */
static tl_status ask(const show *s, const spirals *m, double *sure, const tl_real *point, int n) {
    tl_tensor *x;
    tl_var *in, *logits;
    tl_real *host = malloc(2 * (size_t)n * sizeof *host);
    TL_NEED(host, TL_ENOMEM, "no memory for %d points", n);
    tl_status status = tl_tensor_new(&x, s->ctx, 2, (int[]){n, 2});
    if (status == TL_OK) status = tl_tensor_from_host(x, point);
    tl_tape_reset(m->tape);
    tl_tape_set_recording(m->tape, false);
    if (status == TL_OK) status = tl_tape_wrap(m->tape, &in, x, 2, (int[]){n, 2}, false);
    if (status == TL_OK) status = tl_module_forward(m->net, m->tape, &logits, in, false);
    if (status == TL_OK) status = tl_tensor_to_host(logits->value, host);
    for (int i = 0; i < n && status == TL_OK; i++)
        sure[i] = 1 / (1 + exp((double)host[2 * i] - (double)host[2 * i + 1]));
    tl_tape_reset(m->tape);
    tl_tensor_free(x);
    free(host);
    return status;
}

/* The plane: . and + are what the net says, o and x the points, whatever it says of them. */
static void print_plane(const spirals *m, const double sure[DOWN * ACROSS]) {
    char plane[DOWN / 2][ACROSS + 1];
    for (int row = 0; row < DOWN / 2; row++) {
        for (int c = 0; c < ACROSS; c++)
            plane[row][c] = sure[2 * row * ACROSS + c] > 0.5 ? '+' : '.';
        plane[row][ACROSS] = '\0';
    }
    for (int i = 0; i < POINTS; i++) {
        int c = (int)(((double)m->point[2 * i] / edge + 1) / 2 * ACROSS);
        int row = (int)((1 - (double)m->point[2 * i + 1] / edge) / 2 * (DOWN / 2));
        if (c >= 0 && c < ACROSS && row >= 0 && row < DOWN / 2)
            plane[row][c] = m->label[i] ? 'x' : 'o';
    }
    for (int row = 0; row < DOWN / 2; row++) printf("  %s\n", plane[row]);
}

static tl_status show_plane(show *s, const spirals *m) {
    static tl_real grid[DOWN * ACROSS * 2];
    static double sure[DOWN * ACROSS], own[POINTS], axis[2][POINTS], arm[POINTS];
    int right = 0;
    for (int i = 0; i < DOWN * ACROSS; i++) {
        grid[2 * i] = (tl_real)(edge * (2 * (i % ACROSS + 0.5) / ACROSS - 1));
        grid[2 * i + 1] = (tl_real)(edge * (1 - 2 * (i / ACROSS + 0.5) / DOWN));
    }
    TL_TRY(ask(s, m, sure, grid, DOWN * ACROSS));
    TL_TRY(ask(s, m, own, m->point, POINTS));
    for (int i = 0; i < POINTS; i++) {
        right += (own[i] > 0.5) == m->label[i];
        for (int k = 0; k < 2; k++) axis[k][i] = (double)m->point[2 * i + k];
        arm[i] = m->label[i];
    }
    print_plane(m, sure);
    printf("\n%d of %d points on the right side (o on ., x on +)\n", right, (int)POINTS);
    TL_TRY(show_write_picture(s, &(show_picture){"boundary", DOWN, ACROSS, sure}));
    jsonl_begin(s->j);
    jsonl_text(s->j, "kind", "points");
    jsonl_number(s->j, "edge", edge);
    jsonl_numbers(s->j, "x", axis[0], POINTS);
    jsonl_numbers(s->j, "y", axis[1], POINTS);
    jsonl_numbers(s->j, "arm", arm, POINTS);
    jsonl_whole(s->j, "right", (uint64_t)right);
    return jsonl_end(s->j);
}

static tl_status work(show *s, spirals *m) {
    double loss[STEPS];
    tl_var *last;
    draw_arms(s, m);
    TL_TRY(make_net(s, m));
    TL_TRY(make_arrays(s, m));
    TL_TRY(learn(s, m, loss));
    printf("\ntwo spirals, learned on %s with the gradients of your tape: %d steps, loss %.3f to "
           "%.4f\n\n",
           s->ctx->ops->name, (int)STEPS, loss[0], loss[STEPS - 1]);
    jsonl_begin(s->j);
    jsonl_text(s->j, "kind", "curve");
    jsonl_numbers(s->j, "loss", loss, STEPS);
    TL_TRY(jsonl_end(s->j));
    TL_TRY(gradients(m, &last));
    TL_TRY(show_tape(s, last, m->params));
    putchar('\n');
    return show_plane(s, m);
}

tl_status show_lab4(show *s) {
    static spirals m;
    tl_status status = work(s, &m);
    tl_tape_free(m.tape);
    tl_tensor_free(m.x);
    tl_module_free(m.net);
    tl_params_free(m.params);
    free(m.host);
    return status;
}
