/* geometry.c: checks of sizes (tl/geometry.h, tl/layers.h), and the chunks and workspace of a
 * convolution (tl/conv2d.h).
 *
 * Every operation trusts geometry that passed here, so this is where overflow must be stopped:
 *   - extents of one image and of one filter fit int, because indices within them are int;
 *   - whole arrays stay below MAX_ELEMENTS, so that neither counts nor bytes wrap around. */
#include "tl/geometry.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "tl/conv2d.h"
#include "tl/layers.h"
#include "tl/tensor.h"

enum { ALIGNMENT = 256 };

/* Half of the address space in elements: two such arrays in one workspace still have a size. */
#define MAX_ELEMENTS (SIZE_MAX / 2 / sizeof(tl_real))

#define NEED_POSITIVE(operation, size)                                                             \
    TL_NEED(g->size >= 1, TL_EINVAL, operation ": " #size " is %d, must be at least 1", g->size)
#define NEED_NOT_NEGATIVE(operation, size)                                                         \
    TL_NEED(g->size >= 0, TL_EINVAL, operation ": " #size " is %d, must not be negative", g->size)

/* Whether the product of sizes, each >= 1, is at most limit; divides, as a product may overflow. */
static bool product_fits(size_t limit, int ndim, const int dim[]) {
    for (int i = 0; i < ndim; i++) limit /= (size_t)dim[i];
    return limit >= 1;
}

static tl_status check_array(const char *name, int ndim, const int dim[]) {
    char shape[TL_SHAPE_TEXT];
    TL_NEED(product_fits(MAX_ELEMENTS, ndim, dim), TL_EINVAL,
            "%s = %s has too many elements for memory addresses", name,
            tl_shape_text(shape, ndim, dim));
    return TL_OK;
}

static tl_status check_int(const char *name, int ndim, const int dim[]) {
    char shape[TL_SHAPE_TEXT];
    TL_NEED(product_fits(INT_MAX, ndim, dim), TL_EINVAL,
            "%s: the product of %s does not fit int, at most %d", name,
            tl_shape_text(shape, ndim, dim), INT_MAX);
    return TL_OK;
}

/* Output length along one axis; a filter of `taps` taps reaches over dilation*(taps-1) + 1 pixels.
 * That the padded length fits int is what makes every later index p*stride + r*dilation - pad safe
 * in int. */
static tl_status check_axis(int *out, const char *axis, int length, int taps, int stride, int pad,
                            int dilation) {
    long long padded = length + 2LL * pad;
    long long reach = (long long)dilation * (taps - 1) + 1;
    TL_NEED(padded <= INT_MAX, TL_EINVAL,
            "%s: %d pixels with %d of padding per side do not fit int", axis, length, pad);
    TL_NEED(reach <= padded, TL_EINVAL,
            "%s: the output is empty: %d taps with dilation %d reach over %lld pixels, the padded "
            "image has %lld",
            axis, taps, dilation, reach, padded);
    *out = (int)((padded - reach) / stride) + 1;
    return TL_OK;
}

tl_status tl_matmul_check(const tl_matmul_geom *g) {
    TL_NEED(g, TL_EINVAL, "matmul: geometry is NULL");
    NEED_POSITIVE("matmul", m);
    NEED_POSITIVE("matmul", n);
    NEED_POSITIVE("matmul", k);
    TL_TRY(check_array("matmul: A[m,k]", 2, (int[]){g->m, g->k}));
    TL_TRY(check_array("matmul: B[k,n]", 2, (int[]){g->k, g->n}));
    TL_TRY(check_array("matmul: C[m,n]", 2, (int[]){g->m, g->n}));
    return TL_OK;
}

tl_status tl_linear_check(const tl_linear_geom *g) {
    TL_NEED(g, TL_EINVAL, "linear: geometry is NULL");
    NEED_POSITIVE("linear", n);
    NEED_POSITIVE("linear", in);
    NEED_POSITIVE("linear", out);
    TL_TRY(check_array("linear: x[n,in]", 2, (int[]){g->n, g->in}));
    TL_TRY(check_array("linear: w[out,in]", 2, (int[]){g->out, g->in}));
    TL_TRY(check_array("linear: y[n,out]", 2, (int[]){g->n, g->out}));
    return TL_OK;
}

/* Each number alone comes first: the products are formed only of numbers in range. */
static tl_status check_conv2d_numbers(const tl_conv2d_geom *g) {
    NEED_POSITIVE("conv2d", n);
    NEED_POSITIVE("conv2d", c);
    NEED_POSITIVE("conv2d", h);
    NEED_POSITIVE("conv2d", w);
    NEED_POSITIVE("conv2d", k);
    NEED_POSITIVE("conv2d", r);
    NEED_POSITIVE("conv2d", s);
    NEED_POSITIVE("conv2d", stride_h);
    NEED_POSITIVE("conv2d", stride_w);
    NEED_POSITIVE("conv2d", dil_h);
    NEED_POSITIVE("conv2d", dil_w);
    NEED_NOT_NEGATIVE("conv2d", pad_h);
    NEED_NOT_NEGATIVE("conv2d", pad_w);
    return TL_OK;
}

tl_status tl_conv2d_check(tl_conv2d_geom *g) {
    TL_NEED(g, TL_EINVAL, "conv2d: geometry is NULL");
    TL_TRY(check_conv2d_numbers(g));
    int p = 0, q = 0;
    TL_TRY(check_axis(&p, "conv2d height", g->h, g->r, g->stride_h, g->pad_h, g->dil_h));
    TL_TRY(check_axis(&q, "conv2d width", g->w, g->s, g->stride_w, g->pad_w, g->dil_w));
    TL_TRY(check_int("conv2d: h*w", 2, (int[]){g->h, g->w}));
    TL_TRY(check_int("conv2d: p*q", 2, (int[]){p, q}));
    TL_TRY(check_int("conv2d: c*r*s", 3, (int[]){g->c, g->r, g->s}));
    TL_TRY(check_array("conv2d: x[n,c,h,w]", 4, (int[]){g->n, g->c, g->h, g->w}));
    TL_TRY(check_array("conv2d: w[k,c,r,s]", 4, (int[]){g->k, g->c, g->r, g->s}));
    TL_TRY(check_array("conv2d: y[n,k,p,q]", 4, (int[]){g->n, g->k, p, q}));
    TL_TRY(check_array("conv2d: columns[c*r*s,p,q] of one image", 3,
                       (int[]){g->c * g->r * g->s, p, q}));
    /* Written last: geometry that failed stays as the caller gave it. */
    g->p = p;
    g->q = q;
    return TL_OK;
}

/* p x q of a geometry against what its check makes of the other numbers. */
static tl_status check_output(const char *name, int p, int q, int made_p, int made_q) {
    TL_NEED(p == made_p && q == made_q, TL_EINVAL,
            "%s: p x q is %d x %d, tl_%s_check makes it %d x %d", name, p, q, name, made_p, made_q);
    return TL_OK;
}

tl_status tl_conv2d_checked(const tl_conv2d_geom *g) {
    TL_NEED(g, TL_EINVAL, "conv2d: geometry is NULL");
    tl_conv2d_geom fresh = *g;
    TL_TRY(tl_conv2d_check(&fresh));
    return check_output("conv2d", g->p, g->q, fresh.p, fresh.q);
}

static tl_status check_pool2d_numbers(const tl_pool2d_geom *g) {
    NEED_POSITIVE("pool2d", n);
    NEED_POSITIVE("pool2d", c);
    NEED_POSITIVE("pool2d", h);
    NEED_POSITIVE("pool2d", w);
    NEED_POSITIVE("pool2d", r);
    NEED_POSITIVE("pool2d", s);
    NEED_POSITIVE("pool2d", stride_h);
    NEED_POSITIVE("pool2d", stride_w);
    NEED_NOT_NEGATIVE("pool2d", pad_h);
    NEED_NOT_NEGATIVE("pool2d", pad_w);
    return TL_OK;
}

tl_status tl_pool2d_check(tl_pool2d_geom *g) {
    TL_NEED(g, TL_EINVAL, "pool2d: geometry is NULL");
    TL_TRY(check_pool2d_numbers(g));
    TL_NEED(
        g->pad_h < g->r && g->pad_w < g->s, TL_EINVAL,
        "pool2d: padding %d x %d must be smaller than the window %d x %d, or a window could lie "
        "outside the image",
        g->pad_h, g->pad_w, g->r, g->s);
    int p = 0, q = 0;
    TL_TRY(check_axis(&p, "pool2d height", g->h, g->r, g->stride_h, g->pad_h, 1));
    TL_TRY(check_axis(&q, "pool2d width", g->w, g->s, g->stride_w, g->pad_w, 1));
    TL_TRY(
        check_int("pool2d: h*w", 2, (int[]){g->h, g->w})); /* argmax holds offsets within a plane */
    TL_TRY(check_int("pool2d: p*q", 2, (int[]){p, q}));
    TL_TRY(check_array("pool2d: x[n,c,h,w]", 4, (int[]){g->n, g->c, g->h, g->w}));
    TL_TRY(check_array("pool2d: y[n,c,p,q]", 4, (int[]){g->n, g->c, p, q}));
    /* Written last: geometry that failed stays as the caller gave it. */
    g->p = p;
    g->q = q;
    return TL_OK;
}

tl_status tl_pool2d_checked(const tl_pool2d_geom *g) {
    TL_NEED(g, TL_EINVAL, "pool2d: geometry is NULL");
    tl_pool2d_geom fresh = *g;
    TL_TRY(tl_pool2d_check(&fresh));
    return check_output("pool2d", g->p, g->q, fresh.p, fresh.q);
}

tl_status tl_batchnorm_check(const tl_batchnorm_geom *g) {
    TL_NEED(g, TL_EINVAL, "batchnorm: geometry is NULL");
    NEED_POSITIVE("batchnorm", n);
    NEED_POSITIVE("batchnorm", c);
    NEED_POSITIVE("batchnorm", hw);
    TL_NEED(g->eps >= 0, TL_EINVAL, "batchnorm: eps is %g, must be at least 0", g->eps);
    TL_NEED(g->momentum >= 0 && g->momentum <= 1, TL_EINVAL,
            "batchnorm: momentum is %g, must be from 0 to 1", g->momentum);
    return check_array("batchnorm: x[n,c,hw]", 3, (int[]){g->n, g->c, g->hw});
}

/* Images whose columns fit column_bytes; at least one, even if that one does not fit. */
int tl_conv2d_chunk(const tl_conv2d_geom *g, size_t column_bytes) {
    size_t image = g ? tl_conv2d_col_rows(g) * tl_conv2d_col_cols(g) * sizeof(tl_real) : 0;
    if (!image) return 0; /* p and q, which the check works out, are not there yet */
    size_t chunk = column_bytes / image;
    /* The matrix product takes the number of columns, chunk*P*Q, as an int. */
    size_t limit = (size_t)INT_MAX / tl_conv2d_col_cols(g);
    if (chunk > limit) chunk = limit;
    if (chunk > (size_t)g->n) chunk = (size_t)g->n;
    return chunk < 1 ? 1 : (int)chunk;
}

/* In the workspace the columns come first; the rows start at the next multiple of ALIGNMENT. */
static size_t rows_offset(const tl_conv2d_geom *g, int chunk) {
    size_t columns = (size_t)chunk * tl_conv2d_col_cols(g);
    size_t bytes = tl_conv2d_col_rows(g) * columns * sizeof(tl_real);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t tl_conv2d_work_bytes(const tl_conv2d_geom *g, size_t column_bytes) {
    int chunk = tl_conv2d_chunk(g, column_bytes);
    if (!chunk) return 0;
    size_t columns = (size_t)chunk * tl_conv2d_col_cols(g);
    return rows_offset(g, chunk) + (size_t)g->k * columns * sizeof(tl_real);
}

tl_conv2d_part tl_conv2d_first(const tl_conv2d_geom *g, size_t column_bytes, void *work) {
    int chunk = tl_conv2d_chunk(g, column_bytes);
    tl_real *rows = (tl_real *)((char *)work + rows_offset(g, chunk));
    return (tl_conv2d_part){.images = chunk, .most = chunk, .col = work, .rows = rows};
}

void tl_conv2d_next(tl_conv2d_part *part, const tl_conv2d_geom *g) {
    size_t done = (size_t)part->images, n = (size_t)g->n;
    part->x += done * (tl_conv2d_x_size(g) / n);
    part->y += done * (tl_conv2d_y_size(g) / n);
    part->first += part->images;
    part->images = g->n - part->first < part->most ? g->n - part->first : part->most;
}
