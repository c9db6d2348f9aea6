/* call_ops.c: typed calls of labs 1 and 2. */
#include "call_build.h"

void call_fill(call_where t, call_report *r, tl_real *y, size_t n, double value) {
    CALL(fill, INTEGERS((int64_t)n), NUMBERS(value), BUFFERS(OUT(y, n)));
}

void call_vector_add(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
                     size_t n) {
    CALL(vector_add, INTEGERS((int64_t)n), BUFFERS(OUT(y, n), IN(a, n), IN(b, n)));
}

void call_vector_reverse(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n) {
    CALL(vector_reverse, INTEGERS((int64_t)n), BUFFERS(OUT(y, n), IN(x, n)));
}

void call_add(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
              size_t n) {
    CALL(add, INTEGERS((int64_t)n), BUFFERS(OUT(y, n), IN(a, n), IN(b, n)));
}

void call_mul(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
              size_t n) {
    CALL(mul, INTEGERS((int64_t)n), BUFFERS(OUT(y, n), IN(a, n), IN(b, n)));
}

void call_scale(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n,
                double factor) {
    CALL(scale, INTEGERS((int64_t)n), NUMBERS(factor), BUFFERS(OUT(y, n), IN(x, n)));
}

void call_axpy(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n, double alpha) {
    CALL(axpy, INTEGERS((int64_t)n), NUMBERS(alpha), BUFFERS(INOUT(y, n), IN(x, n)));
}

void call_mul_add(call_where t, call_report *r, tl_real *dx, const tl_real *a, const tl_real *dy,
                  size_t n) {
    CALL(mul_add, INTEGERS((int64_t)n), BUFFERS(INOUT(dx, n), IN(a, n), IN(dy, n)));
}

void call_sum(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n) {
    CALL(sum, INTEGERS((int64_t)n), BUFFERS(OUT(y, 1), IN(x, n)));
}

/* A matrix [rows, cols] in, one row or one column out. */
#define REDUCTION(op_name, type, role, count)                                                      \
    void call_##op_name(call_where t, call_report *r, type *y, const tl_real *x, int rows,         \
                        int cols) {                                                                \
        size_t n = (size_t)rows * (size_t)cols;                                                    \
        CALL(op_name, INTEGERS(rows, cols), BUFFERS(role(y, (size_t)(count)), IN(x, n)));          \
    }
REDUCTION(sum_rows, tl_real, OUT, cols)
REDUCTION(sum_cols, tl_real, OUT, rows)
REDUCTION(max_cols, tl_real, OUT, rows)
REDUCTION(argmax_cols, int32_t, INTS_OUT, rows)
REDUCTION(transpose, tl_real, OUT, rows *cols)

#define PRODUCT(op_name)                                                                           \
    void call_##op_name(call_where t, call_report *r, tl_real *C, const tl_real *A,                \
                        const tl_real *B, const tl_matmul_geom *g) {                               \
        size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;                               \
        call_role role = g->accumulate ? CALL_INOUT : CALL_OUT;                                    \
        CALL(op_name, INTEGERS(g->m, g->n, g->k, g->trans_a, g->trans_b, g->accumulate),           \
             BUFFERS({"C", CALL_REAL, role, m * n, C}, IN(A, m *k), IN(B, k *n)));                 \
    }
PRODUCT(matmul)
PRODUCT(gemm)

/* ---- tensors: sizes cross as ndim and four numbers, so that five dimensions can be asked for ----
 */

static int64_t size_at(int ndim, const int dim[], int i) { return i < ndim ? dim[i] : 1; }
#define SHAPE_INTEGERS(ndim, dim)                                                                  \
    (ndim), size_at(ndim, dim, 0), size_at(ndim, dim, 1), size_at(ndim, dim, 2),                   \
        size_at(ndim, dim, 3)

void call_tensor_new(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[]) {
    CALL(tensor_new, INTEGERS(SHAPE_INTEGERS(ndim, dim), size_at(ndim, dim, 4)),
         BUFFERS(INTS_OUT(fact, 8)));
}

void call_tensor_view(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[],
                      int view_ndim, const int view_dim[]) {
    CALL(tensor_view, INTEGERS(SHAPE_INTEGERS(ndim, dim), SHAPE_INTEGERS(view_ndim, view_dim)),
         BUFFERS(INTS_OUT(fact, 8)));
}

void call_tensor_offset(call_where t, call_report *r, size_t *offset, int ndim, const int dim[],
                        const int index[]) {
    int64_t at[4] = {0};
    for (int i = 0; i < ndim; i++) at[i] = index[i];
    CALL(tensor_offset, INTEGERS(SHAPE_INTEGERS(ndim, dim), at[0], at[1], at[2], at[3]),
         BUFFERS(BYTES_OUT(offset, sizeof *offset)));
}

void call_tensor_same_shape(call_where t, call_report *r, int32_t *same, int ndim_a,
                            const int dim_a[], int ndim_b, const int dim_b[]) {
    CALL(tensor_same_shape, INTEGERS(SHAPE_INTEGERS(ndim_a, dim_a), SHAPE_INTEGERS(ndim_b, dim_b)),
         BUFFERS(INTS_OUT(same, 1)));
}

void call_tensor_copy(call_where t, call_report *r, tl_real *out, const tl_real *in, int ndim,
                      const int dim[]) {
    size_t n = 1;
    for (int i = 0; i < ndim; i++) n *= (size_t)dim[i];
    CALL(tensor_copy, INTEGERS(SHAPE_INTEGERS(ndim, dim)), BUFFERS(OUT(out, n), IN(in, n)));
}

/* ---- convolution ---- */

#define CONV2D_INTEGERS(g, images)                                                                 \
    INTEGERS((images), (g)->c, (g)->h, (g)->w, (g)->k, (g)->r, (g)->s, (g)->stride_h,              \
             (g)->stride_w, (g)->pad_h, (g)->pad_w, (g)->dil_h, (g)->dil_w, (g)->p, (g)->q)

/* Elements of x and of its columns for a number of images. */
static size_t pixels(const tl_conv2d_geom *g, int images) {
    return (size_t)images * (size_t)g->c * (size_t)g->h * (size_t)g->w;
}
static size_t columns(const tl_conv2d_geom *g, int images) {
    return tl_conv2d_col_rows(g) * (size_t)images * tl_conv2d_col_cols(g);
}

/* A target that does not say what columns may take gets what the cpu device has. */
static size_t work_bytes(call_where t, const tl_conv2d_geom *g) {
    return tl_conv2d_work_bytes(g, t->column_bytes ? t->column_bytes : (size_t)256 << 20);
}

void call_im2col(call_where t, call_report *r, tl_real *col, const tl_real *x, int images,
                 const tl_conv2d_geom *g) {
    CALL(im2col, CONV2D_INTEGERS(g, images),
         BUFFERS(OUT(col, columns(g, images)), IN(x, pixels(g, images))));
}

void call_col2im(call_where t, call_report *r, tl_real *dx, const tl_real *col, int images,
                 const tl_conv2d_geom *g) {
    CALL(col2im, CONV2D_INTEGERS(g, images),
         BUFFERS(INOUT(dx, pixels(g, images)), IN(col, columns(g, images))));
}

void call_conv2d_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_real *b, const tl_conv2d_geom *g) {
    CALL(conv2d_fwd, CONV2D_INTEGERS(g, g->n),
         BUFFERS(OUT(y, tl_conv2d_y_size(g)), IN(x, tl_conv2d_x_size(g)),
                 IN(w, tl_conv2d_w_size(g)), IN(b, (size_t)g->k), WORK(work_bytes(t, g))));
}

void call_conv2d_bwd_input(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                           const tl_real *w, const tl_conv2d_geom *g) {
    CALL(conv2d_bwd_input, CONV2D_INTEGERS(g, g->n),
         BUFFERS(INOUT(dx, tl_conv2d_x_size(g)), IN(dy, tl_conv2d_y_size(g)),
                 IN(w, tl_conv2d_w_size(g)), WORK(work_bytes(t, g))));
}

void call_conv2d_bwd_weight(call_where t, call_report *r, tl_real *dw, const tl_real *dy,
                            const tl_real *x, const tl_conv2d_geom *g) {
    CALL(conv2d_bwd_weight, CONV2D_INTEGERS(g, g->n),
         BUFFERS(INOUT(dw, tl_conv2d_w_size(g)), IN(dy, tl_conv2d_y_size(g)),
                 IN(x, tl_conv2d_x_size(g)), WORK(work_bytes(t, g))));
}

void call_conv2d_bwd_bias(call_where t, call_report *r, tl_real *db, const tl_real *dy,
                          const tl_conv2d_geom *g) {
    CALL(conv2d_bwd_bias, CONV2D_INTEGERS(g, g->n),
         BUFFERS(INOUT(db, (size_t)g->k), IN(dy, tl_conv2d_y_size(g))));
}
