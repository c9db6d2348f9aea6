/* oracle_conv2d.c: convolution by its definition in tl/geometry.h, without any im2col matrix. */
#include "oracle.h"

#include <math.h>
#include <stdbool.h>

/* Offset of x[n,c,row,col] where tap (r,s) of output (p,q) looks, false outside the image. */
static bool pixel(size_t *at, const tl_conv2d_geom *g, int n, int c, int p, int q, int r, int s) {
    int row = p * g->stride_h - g->pad_h + r * g->dil_h;
    int col = q * g->stride_w - g->pad_w + s * g->dil_w;
    if (row < 0 || row >= g->h || col < 0 || col >= g->w) return false;
    *at = (((size_t)n * (size_t)g->c + (size_t)c) * (size_t)g->h + (size_t)row) * (size_t)g->w +
          (size_t)col;
    return true;
}

/* Offset of y[n,k,p,q]. */
static size_t output(const tl_conv2d_geom *g, int n, int k, int p, int q) {
    return (((size_t)n * (size_t)g->k + (size_t)k) * (size_t)g->p + (size_t)p) * (size_t)g->q +
           (size_t)q;
}

/* Offset of w[k,c,r,s]: taps in the order (c,r,s), which im2col's rows must share. */
static size_t weight(const tl_conv2d_geom *g, int k, int c, int r, int s) {
    return (((size_t)k * (size_t)g->c + (size_t)c) * (size_t)g->r + (size_t)r) * (size_t)g->s +
           (size_t)s;
}

/* Runs the statement after it for every tap (c,r,s) of every output (n,p,q). */
#define FOR_OUTPUTS(g)                                                                             \
    for (int n = 0; n < (g)->n; n++)                                                               \
        for (int p = 0; p < (g)->p; p++)                                                           \
            for (int q = 0; q < (g)->q; q++)
#define FOR_TAPS(g)                                                                                \
    for (int c = 0; c < (g)->c; c++)                                                               \
        for (int r = 0; r < (g)->r; r++)                                                           \
            for (int s = 0; s < (g)->s; s++)

/* Element of col[C*R*S, images*P*Q]. */
static size_t column(const tl_conv2d_geom *g, int images, int n, int p, int q, int c, int r,
                     int s) {
    size_t row = ((size_t)c * (size_t)g->r + (size_t)r) * (size_t)g->s + (size_t)s;
    size_t col = ((size_t)n * (size_t)g->p + (size_t)p) * (size_t)g->q + (size_t)q;
    return row * (size_t)images * (size_t)g->p * (size_t)g->q + col;
}

/* Every element of col is written: a copy of a pixel, or 0 where the tap lies in the padding. */
void oracle_im2col(double *col, const double *x, int images, const tl_conv2d_geom *g) {
    tl_conv2d_geom some = *g;
    some.n = images;
    size_t at;
    FOR_OUTPUTS(&some)
    FOR_TAPS(&some)
    col[column(g, images, n, p, q, c, r, s)] = pixel(&at, g, n, c, p, q, r, s) ? x[at] : 0;
}

/* Every element of col goes back to the pixel it was copied from; what came from the padding has
 * none. */
void oracle_col2im(double *dx, double *scale, const double *col, int images,
                   const tl_conv2d_geom *g) {
    tl_conv2d_geom some = *g;
    some.n = images;
    for (size_t i = 0; i < tl_conv2d_x_size(&some); i++) dx[i] = 0;
    for (size_t i = 0; scale && i < tl_conv2d_x_size(&some); i++) scale[i] = 0;
    size_t at;
    FOR_OUTPUTS(&some)
    FOR_TAPS(&some) if (pixel(&at, g, n, c, p, q, r, s)) {
        double term = col[column(g, images, n, p, q, c, r, s)];
        dx[at] += term;
        if (scale) scale[at] += fabs(term);
    }
}

/* y[n,k,p,q] = b[k] + sum over c,r,s of w[k,c,r,s] x[pixel]. */
void oracle_conv2d_fwd(double *y, double *scale, const double *x, const double *w, const double *b,
                       const tl_conv2d_geom *g) {
    FOR_OUTPUTS(g)
    for (int k = 0; k < g->k; k++) {
        double sum = b ? b[k] : 0, absolute = fabs(sum);
        size_t at;
        FOR_TAPS(g) if (pixel(&at, g, n, c, p, q, r, s)) {
            double term = w[weight(g, k, c, r, s)] * x[at];
            sum += term;
            absolute += fabs(term);
        }
        y[output(g, n, k, p, q)] = sum;
        if (scale) scale[output(g, n, k, p, q)] = absolute;
    }
}

/* Both gradients visit the same terms dy * w * x as the forward formula, and differ only in which
 * factor is left out and where the rest is added. */
void oracle_conv2d_bwd_input(double *dx, double *scale, const double *dy, const double *w,
                             const tl_conv2d_geom *g) {
    for (size_t i = 0; i < tl_conv2d_x_size(g); i++) dx[i] = 0;
    for (size_t i = 0; scale && i < tl_conv2d_x_size(g); i++) scale[i] = 0;
    FOR_OUTPUTS(g)
    for (int k = 0; k < g->k; k++) {
        size_t at;
        FOR_TAPS(g) if (pixel(&at, g, n, c, p, q, r, s)) {
            double term = dy[output(g, n, k, p, q)] * w[weight(g, k, c, r, s)];
            dx[at] += term;
            if (scale) scale[at] += fabs(term);
        }
    }
}

void oracle_conv2d_bwd_weight(double *dw, double *scale, const double *dy, const double *x,
                              const tl_conv2d_geom *g) {
    for (size_t i = 0; i < tl_conv2d_w_size(g); i++) dw[i] = 0;
    for (size_t i = 0; scale && i < tl_conv2d_w_size(g); i++) scale[i] = 0;
    FOR_OUTPUTS(g)
    for (int k = 0; k < g->k; k++) {
        size_t at;
        FOR_TAPS(g) if (pixel(&at, g, n, c, p, q, r, s)) {
            double term = dy[output(g, n, k, p, q)] * x[at];
            dw[weight(g, k, c, r, s)] += term;
            if (scale) scale[weight(g, k, c, r, s)] += fabs(term);
        }
    }
}

/* db[k] = sum over n,p,q of dy[n,k,p,q]: one number per output channel. */
void oracle_conv2d_bwd_bias(double *db, double *scale, const double *dy, const tl_conv2d_geom *g) {
    for (int k = 0; k < g->k; k++) db[k] = 0;
    for (int k = 0; scale && k < g->k; k++) scale[k] = 0;
    FOR_OUTPUTS(g)
    for (int k = 0; k < g->k; k++) {
        db[k] += dy[output(g, n, k, p, q)];
        if (scale) scale[k] += fabs(dy[output(g, n, k, p, q)]);
    }
}
