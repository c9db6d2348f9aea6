/* call_layers.c: typed calls of labs 3, 4 and 5. */
#include "call_build.h"

#define POOL2D_INTEGERS(g)                                                                         \
    INTEGERS((g)->n, (g)->c, (g)->h, (g)->w, (g)->r, (g)->s, (g)->stride_h, (g)->stride_w,         \
             (g)->pad_h, (g)->pad_w, (g)->p, (g)->q)

void call_maxpool2d_fwd(call_where t, call_report *r, tl_real *y, int32_t *argmax, const tl_real *x,
                        const tl_pool2d_geom *g) {
    size_t outs = tl_pool2d_y_size(g);
    CALL(maxpool2d_fwd, POOL2D_INTEGERS(g),
         BUFFERS(OUT(y, outs), INTS_OUT(argmax, outs), IN(x, tl_pool2d_x_size(g))));
}

void call_maxpool2d_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                        const int32_t *argmax, const tl_pool2d_geom *g) {
    size_t outs = tl_pool2d_y_size(g);
    CALL(maxpool2d_bwd, POOL2D_INTEGERS(g),
         BUFFERS(INOUT(dx, tl_pool2d_x_size(g)), IN(dy, outs), INTS_IN(argmax, outs)));
}

#define LINEAR_SIZES(g)                                                                            \
    size_t xs = (size_t)g->n * (size_t)g->in, ys = (size_t)g->n * (size_t)g->out,                  \
           ws = (size_t)g->in * (size_t)g->out

void call_linear_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_real *b, const tl_linear_geom *g) {
    LINEAR_SIZES(g);
    CALL(linear_fwd, INTEGERS(g->n, g->in, g->out),
         BUFFERS(OUT(y, ys), IN(x, xs), IN(w, ws), IN(b, (size_t)g->out)));
}

void call_linear_bwd_input(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                           const tl_real *w, const tl_linear_geom *g) {
    LINEAR_SIZES(g);
    CALL(linear_bwd_input, INTEGERS(g->n, g->in, g->out),
         BUFFERS(INOUT(dx, xs), IN(dy, ys), IN(w, ws)));
}

void call_linear_bwd_weight(call_where t, call_report *r, tl_real *dw, const tl_real *dy,
                            const tl_real *x, const tl_linear_geom *g) {
    LINEAR_SIZES(g);
    CALL(linear_bwd_weight, INTEGERS(g->n, g->in, g->out),
         BUFFERS(INOUT(dw, ws), IN(dy, ys), IN(x, xs)));
}

void call_linear_bwd_bias(call_where t, call_report *r, tl_real *db, const tl_real *dy,
                          const tl_linear_geom *g) {
    CALL(linear_bwd_bias, INTEGERS(g->n, g->in, g->out),
         BUFFERS(INOUT(db, (size_t)g->out), IN(dy, (size_t)g->n * (size_t)g->out)));
}

void call_relu_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n) {
    CALL(relu_fwd, INTEGERS((int64_t)n), BUFFERS(OUT(y, n), IN(x, n)));
}

void call_relu_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy, const tl_real *y,
                   size_t n) {
    CALL(relu_bwd, INTEGERS((int64_t)n), BUFFERS(INOUT(dx, n), IN(dy, n), IN(y, n)));
}

void call_softmax_xent_fwd(call_where t, call_report *r, tl_real *loss, tl_real *row_loss,
                           tl_real *prob, const tl_real *logits, const int32_t *label, int rows,
                           int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    CALL(softmax_xent_fwd, INTEGERS(rows, classes),
         BUFFERS(OUT(loss, 1), OUT(row_loss, (size_t)rows), OUT(prob, n), IN(logits, n),
                 INTS_IN(label, (size_t)rows)));
}

void call_softmax_xent_bwd(call_where t, call_report *r, tl_real *dlogits, const tl_real *dloss,
                           const tl_real *prob, const int32_t *label, int rows, int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    CALL(softmax_xent_bwd, INTEGERS(rows, classes),
         BUFFERS(INOUT(dlogits, n), IN(dloss, 1), IN(prob, n), INTS_IN(label, (size_t)rows)));
}

#define BATCHNORM_SIZES(g)   size_t c = (size_t)g->c, n = (size_t)g->n * c * (size_t)g->hw
#define BATCHNORM_NUMBERS(g) INTEGERS(g->n, g->c, g->hw), NUMBERS(g->eps, g->momentum)

void call_batchnorm_fwd(call_where t, call_report *r, tl_real *y, tl_real *mean, tl_real *inv_std,
                        tl_real *running_mean, tl_real *running_var, const tl_real *x,
                        const tl_real *gamma, const tl_real *beta, const tl_batchnorm_geom *g) {
    BATCHNORM_SIZES(g);
    CALL(batchnorm_fwd, BATCHNORM_NUMBERS(g),
         BUFFERS(OUT(y, n), OUT(mean, c), OUT(inv_std, c), INOUT(running_mean, c),
                 INOUT(running_var, c), IN(x, n), IN(gamma, c), IN(beta, c)));
}

void call_batchnorm_eval(call_where t, call_report *r, tl_real *y, const tl_real *x,
                         const tl_real *gamma, const tl_real *beta, const tl_real *running_mean,
                         const tl_real *running_var, const tl_batchnorm_geom *g) {
    BATCHNORM_SIZES(g);
    CALL(batchnorm_eval, BATCHNORM_NUMBERS(g),
         BUFFERS(OUT(y, n), IN(x, n), IN(gamma, c), IN(beta, c), IN(running_mean, c),
                 IN(running_var, c)));
}

void call_batchnorm_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                        const tl_real *dy, const tl_real *x, const tl_real *gamma,
                        const tl_real *mean, const tl_real *inv_std, const tl_batchnorm_geom *g) {
    BATCHNORM_SIZES(g);
    CALL(batchnorm_bwd, BATCHNORM_NUMBERS(g),
         BUFFERS(INOUT(dx, n), INOUT(dgamma, c), INOUT(dbeta, c), IN(dy, n), IN(x, n), IN(gamma, c),
                 IN(mean, c), IN(inv_std, c)));
}

void call_dropout_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x,
                      const tl_step *step, const tl_dropout_geom *g) {
    CALL(dropout_fwd, INTEGERS((int64_t)g->n, g->layer), NUMBERS(g->p),
         BUFFERS(OUT(y, g->n), IN(x, g->n), BYTES_IN(step, sizeof *step)));
}

void call_dropout_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                      const tl_step *step, const tl_dropout_geom *g) {
    CALL(dropout_bwd, INTEGERS((int64_t)g->n, g->layer), NUMBERS(g->p),
         BUFFERS(INOUT(dx, g->n), IN(dy, g->n), BYTES_IN(step, sizeof *step)));
}

void call_init(call_where t, call_report *r, tl_real *w, size_t n, int which, int fan_in,
               int fan_out, uint64_t seed, uint32_t stream) {
    CALL(init, INTEGERS(which, fan_in, fan_out, (int64_t)seed, stream), BUFFERS(OUT(w, n)));
}

void call_graph(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const int32_t *labels,
                size_t label_count, const int64_t *program, size_t length) {
    CALL(
        graph, .integer = program, .integers = length,
        BUFFERS(OUT(results, result_count), IN(values, value_count), INTS_IN(labels, label_count)));
}

void call_train(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const tl_device_split *split,
                const double number[CALL_NUMBERS], const int64_t *program, size_t length) {
    size_t image = (size_t)split->c * (size_t)split->h * (size_t)split->w;
    call_request q = {.op = CALL_train,
                      .integer = program,
                      .integers = length,
                      BUFFERS(OUT(results, result_count), IN(values, value_count),
                              BYTES_IN(split->images, split->count * image),
                              BYTES_IN(split->labels, split->count),
                              IN(split->lut, (size_t)split->c * 256))};
    for (int i = 0; i < CALL_NUMBERS; i++) q.number[i] = number[i];
    call_run(t, &q, r);
}

void call_sgd_step(call_where t, call_report *r, tl_real *w, tl_real *velocity, const tl_real *dw,
                   size_t n, const tl_step *step, const tl_sgd_options *o) {
    CALL(sgd_step, INTEGERS((int64_t)n, o->nesterov), NUMBERS(o->momentum, o->weight_decay),
         BUFFERS(INOUT(w, n), INOUT(velocity, n), IN(dw, n), BYTES_IN(step, sizeof *step)));
}

void call_adam_step(call_where t, call_report *r, tl_real *w, tl_real *m, tl_real *v,
                    const tl_real *dw, size_t n, const tl_step *step, const tl_adam_options *o) {
    CALL(adam_step, INTEGERS((int64_t)n), NUMBERS(o->beta1, o->beta2, o->eps, o->weight_decay),
         BUFFERS(INOUT(w, n), INOUT(m, n), INOUT(v, n), IN(dw, n), BYTES_IN(step, sizeof *step)));
}

void call_schedule_lr(call_where t, call_report *r, double *lr, size_t n, uint64_t first,
                      const tl_schedule *schedule) {
    CALL(
        schedule_lr,
        INTEGERS(schedule->kind, (int64_t)schedule->turn, (int64_t)schedule->total, (int64_t)first),
        NUMBERS(schedule->base, schedule->factor), BUFFERS(BYTES_OUT(lr, n * sizeof *lr)));
}

void call_batch_load(call_where t, call_report *r, tl_real *x, int32_t *label,
                     const tl_device_split *split, const tl_step *step, const tl_batch_geom *g) {
    size_t image = (size_t)split->c * (size_t)split->h * (size_t)split->w;
    CALL(batch_load,
         INTEGERS(g->n, g->shuffle, g->augment, g->pad, (int64_t)split->count, split->c, split->h,
                  split->w, split->classes),
         BUFFERS(OUT(x, (size_t)g->n * image), INTS_OUT(label, (size_t)g->n),
                 BYTES_IN(step, sizeof *step), BYTES_IN(split->images, split->count * image),
                 BYTES_IN(split->labels, split->count), IN(split->lut, (size_t)split->c * 256)));
}

void call_metrics_add(call_where t, call_report *r, tl_metric_sums *sums, const tl_real *row_loss,
                      const tl_real *score, const int32_t *label, int rows, int classes) {
    CALL(metrics_add, INTEGERS(rows, classes),
         BUFFERS(BYTES_INOUT(sums, sizeof *sums), IN(row_loss, (size_t)rows),
                 IN(score, (size_t)rows * (size_t)classes), INTS_IN(label, (size_t)rows)));
}

void call_conv3x3(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                  const tl_conv3x3_geom *g) {
    size_t plane = (size_t)g->h * (size_t)g->w, n = (size_t)g->n, c = (size_t)g->c;
    size_t k = (size_t)g->k;
    CALL(conv3x3, INTEGERS(g->n, g->c, g->k, g->h, g->w),
         BUFFERS(OUT(y, n * k * plane), IN(x, n * c * plane), IN(w, k * c * 9)));
}
