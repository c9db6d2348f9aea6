/* call_fused.c: typed calls of the fused entries (tl/fused.h). A device without one: TL_ENOTIMPL.
 */
#include "call_build.h"

#define BLOCK_INTEGERS(g)                                                                          \
    INTEGERS((g)->conv.n, (g)->conv.c, (g)->conv.h, (g)->conv.w, (g)->conv.k, (g)->conv.r,         \
             (g)->conv.s, (g)->conv.stride_h, (g)->conv.stride_w, (g)->conv.pad_h,                 \
             (g)->conv.pad_w, (g)->conv.dil_h, (g)->conv.dil_w, (g)->conv.p, (g)->conv.q,          \
             (g)->pool)

static size_t block_outputs(const tl_conv2d_block *g) {
    int shrink = g->pool ? 2 : 1;
    return (size_t)g->conv.n * (size_t)g->conv.k * (size_t)(g->conv.p / shrink) *
           (size_t)(g->conv.q / shrink);
}

void call_conv2d_block_fwd(call_where t, call_report *r, tl_real *y, uint8_t *code,
                           const tl_real *x, const tl_real *w, const tl_real *b,
                           const tl_conv2d_block *g) {
    size_t ys = block_outputs(g);
    CALL(conv2d_block_fwd, BLOCK_INTEGERS(g),
         BUFFERS(OUT(y, ys), BYTES_OUT(code, ys), IN(x, tl_conv2d_x_size(&g->conv)),
                 IN(w, tl_conv2d_w_size(&g->conv)), IN(b, (size_t)g->conv.k)));
}

void call_conv2d_block_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dw, tl_real *db,
                           const tl_real *dy, const uint8_t *code, const tl_real *x,
                           const tl_real *w, const tl_conv2d_block *g, bool fresh) {
    size_t ys = block_outputs(g), xs = tl_conv2d_x_size(&g->conv), ws = tl_conv2d_w_size(&g->conv);
    call_buffer to = INOUT(dx, xs);
    if (fresh) to.role = CALL_OUT;
    CALL(conv2d_block_bwd, BLOCK_INTEGERS(g), NUMBERS(fresh),
         BUFFERS(to, INOUT(dw, ws), INOUT(db, (size_t)g->conv.k), IN(dy, ys), BYTES_IN(code, ys),
                 IN(x, xs), IN(w, ws), WORK(tl_conv2d_block_work_bytes(g))));
}

void call_linear_block_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x,
                           const tl_real *w, const tl_real *b, const tl_linear_geom *g, bool relu) {
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    CALL(linear_block_fwd, INTEGERS(g->n, g->in, g->out, relu),
         BUFFERS(OUT(y, n * out), IN(x, n * in), IN(w, in * out), IN(b, out),
                 WORK(tl_linear_block_work_bytes(g))));
}

void call_linear_block_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dw, tl_real *db,
                           const tl_real *dy, const tl_real *y, const tl_real *x, const tl_real *w,
                           const tl_linear_geom *g, bool fresh) {
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    call_buffer to = INOUT(dx, n * in);
    if (fresh) to.role = CALL_OUT;
    CALL(linear_block_bwd, INTEGERS(g->n, g->in, g->out, fresh),
         BUFFERS(to, INOUT(dw, in * out), INOUT(db, out), IN(dy, n * out), IN(y, n * out),
                 IN(x, n * in), IN(w, in * out)));
}

void call_xent_head_fwd(call_where t, call_report *r, tl_real *loss, tl_real *row_loss,
                        tl_real *prob, tl_metric_sums *sums, const tl_real *logits,
                        const int32_t *label, int rows, int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    CALL(xent_head_fwd, INTEGERS(rows, classes),
         BUFFERS(OUT(loss, 1), OUT(row_loss, (size_t)rows), OUT(prob, n),
                 BYTES_INOUT(sums, sizeof *sums), IN(logits, n), INTS_IN(label, (size_t)rows)));
}

void call_xent_head_bwd(call_where t, call_report *r, tl_real *dlogits, const tl_real *dloss,
                        const tl_real *prob, const int32_t *label, int rows, int classes) {
    size_t n = (size_t)rows * (size_t)classes;
    CALL(xent_head_bwd, INTEGERS(rows, classes),
         BUFFERS(OUT(dlogits, n), IN(dloss, 1), IN(prob, n), INTS_IN(label, (size_t)rows)));
}
