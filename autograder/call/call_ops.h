/* call_ops.h: calls as typed functions, one per operation; arguments as in tl/, with host arrays.
 *
 * Outputs are poisoned unless the contract accumulates, workspaces come from here, a NULL bias
 * stays NULL, the same array twice is an operation in place. Geometry must have passed its check.
 */
#ifndef CALL_OPS_H
#define CALL_OPS_H

#include "call.h"

typedef const call_target *call_where;

/* lab 0 */
void call_vector_add(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
                     size_t n);
void call_vector_reverse(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n);

/* lab 1 */
void call_fill(call_where t, call_report *r, tl_real *y, size_t n, double value);
void call_add(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
              size_t n);
void call_mul(call_where t, call_report *r, tl_real *y, const tl_real *a, const tl_real *b,
              size_t n);
void call_scale(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n,
                double factor);
void call_axpy(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n, double alpha);
void call_mul_add(call_where t, call_report *r, tl_real *dx, const tl_real *a, const tl_real *dy,
                  size_t n);
void call_sum(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n);
void call_sum_rows(call_where t, call_report *r, tl_real *y, const tl_real *x, int rows, int cols);
void call_sum_cols(call_where t, call_report *r, tl_real *y, const tl_real *x, int rows, int cols);
void call_max_cols(call_where t, call_report *r, tl_real *y, const tl_real *x, int rows, int cols);
void call_argmax_cols(call_where t, call_report *r, int32_t *y, const tl_real *x, int rows,
                      int cols);
void call_matmul(call_where t, call_report *r, tl_real *C, const tl_real *A, const tl_real *B,
                 const tl_matmul_geom *g);
void call_gemm(call_where t, call_report *r, tl_real *C, const tl_real *A, const tl_real *B,
               const tl_matmul_geom *g);
void call_transpose(call_where t, call_report *r, tl_real *y, const tl_real *x, int rows, int cols);

/* fact[8]: ndim, dim[4], size, owner, and whether ctx (new) or memory (view) is as given */
void call_tensor_new(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[]);
void call_tensor_view(call_where t, call_report *r, int32_t fact[8], int ndim, const int dim[],
                      int view_ndim, const int view_dim[]);
void call_tensor_offset(call_where t, call_report *r, size_t *offset, int ndim, const int dim[],
                        const int index[]);
void call_tensor_same_shape(call_where t, call_report *r, int32_t *same, int ndim_a,
                            const int dim_a[], int ndim_b, const int dim_b[]);
void call_tensor_copy(call_where t, call_report *r, tl_real *out, const tl_real *in, int ndim,
                      const int dim[]);

/* lab 2 */
void call_im2col(call_where t, call_report *r, tl_real *col, const tl_real *x, int images,
                 const tl_conv2d_geom *g);
void call_col2im(call_where t, call_report *r, tl_real *dx, const tl_real *col, int images,
                 const tl_conv2d_geom *g);
void call_conv2d_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_real *b, const tl_conv2d_geom *g);
void call_conv2d_bwd_input(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                           const tl_real *w, const tl_conv2d_geom *g);
void call_conv2d_bwd_weight(call_where t, call_report *r, tl_real *dw, const tl_real *dy,
                            const tl_real *x, const tl_conv2d_geom *g);
void call_conv2d_bwd_bias(call_where t, call_report *r, tl_real *db, const tl_real *dy,
                          const tl_conv2d_geom *g);

/* lab 3 */
void call_maxpool2d_fwd(call_where t, call_report *r, tl_real *y, int32_t *argmax, const tl_real *x,
                        const tl_pool2d_geom *g);
void call_maxpool2d_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                        const int32_t *argmax, const tl_pool2d_geom *g);
void call_linear_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                     const tl_real *b, const tl_linear_geom *g);
void call_linear_bwd_input(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                           const tl_real *w, const tl_linear_geom *g);
void call_linear_bwd_weight(call_where t, call_report *r, tl_real *dw, const tl_real *dy,
                            const tl_real *x, const tl_linear_geom *g);
void call_linear_bwd_bias(call_where t, call_report *r, tl_real *db, const tl_real *dy,
                          const tl_linear_geom *g);
void call_relu_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x, size_t n);
void call_relu_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy, const tl_real *y,
                   size_t n);
void call_softmax_xent_fwd(call_where t, call_report *r, tl_real *loss, tl_real *row_loss,
                           tl_real *prob, const tl_real *logits, const int32_t *label, int rows,
                           int classes);
void call_softmax_xent_bwd(call_where t, call_report *r, tl_real *dlogits, const tl_real *dloss,
                           const tl_real *prob, const int32_t *label, int rows, int classes);
void call_batchnorm_fwd(call_where t, call_report *r, tl_real *y, tl_real *mean, tl_real *inv_std,
                        tl_real *running_mean, tl_real *running_var, const tl_real *x,
                        const tl_real *gamma, const tl_real *beta, const tl_batchnorm_geom *g);
void call_batchnorm_eval(call_where t, call_report *r, tl_real *y, const tl_real *x,
                         const tl_real *gamma, const tl_real *beta, const tl_real *running_mean,
                         const tl_real *running_var, const tl_batchnorm_geom *g);
void call_batchnorm_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dgamma, tl_real *dbeta,
                        const tl_real *dy, const tl_real *x, const tl_real *gamma,
                        const tl_real *mean, const tl_real *inv_std, const tl_batchnorm_geom *g);
void call_dropout_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x,
                      const tl_step *step, const tl_dropout_geom *g);
void call_dropout_bwd(call_where t, call_report *r, tl_real *dx, const tl_real *dy,
                      const tl_step *step, const tl_dropout_geom *g);

/* lab 4. which: 0 He normal, 1 He uniform, 2 Xavier normal, 3 Xavier uniform */
void call_init(call_where t, call_report *r, tl_real *w, size_t n, int which, int fan_in,
               int fan_out, uint64_t seed, uint32_t stream);
void call_graph(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const int32_t *labels,
                size_t label_count, const int64_t *program, size_t length);

/* program: call/train.h; the split holds host arrays of training and test images */
void call_train(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const tl_device_split *split,
                const double number[CALL_NUMBERS], const int64_t *program, size_t length);

/* lab 5. velocity may be NULL if momentum is 0 */
void call_sgd_step(call_where t, call_report *r, tl_real *w, tl_real *velocity, const tl_real *dw,
                   size_t n, const tl_step *step, const tl_sgd_options *o);
void call_adam_step(call_where t, call_report *r, tl_real *w, tl_real *m, tl_real *v,
                    const tl_real *dw, size_t n, const tl_step *step, const tl_adam_options *o);
void call_schedule_lr(call_where t, call_report *r, double *lr, size_t n, uint64_t first,
                      const tl_schedule *schedule);
/* the split's three pointers are host arrays here */
void call_batch_load(call_where t, call_report *r, tl_real *x, int32_t *label,
                     const tl_device_split *split, const tl_step *step, const tl_batch_geom *g);
void call_conv3x3(call_where t, call_report *r, tl_real *y, const tl_real *x, const tl_real *w,
                  const tl_conv3x3_geom *g);
void call_metrics_add(call_where t, call_report *r, tl_metric_sums *sums, const tl_real *row_loss,
                      const tl_real *score, const int32_t *label, int rows, int classes);

/* fused entries (tl/fused.h): TL_ENOTIMPL where a device has none. code may be NULL in fwd, dx in
 * bwd, y of a linear layer without ReLU, b of a linear layer, sums. With fresh, dx is poisoned. */
void call_conv2d_block_fwd(call_where t, call_report *r, tl_real *y, uint8_t *code,
                           const tl_real *x, const tl_real *w, const tl_real *b,
                           const tl_conv2d_block *g);
void call_conv2d_block_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dw, tl_real *db,
                           const tl_real *dy, const uint8_t *code, const tl_real *x,
                           const tl_real *w, const tl_conv2d_block *g, bool fresh);
void call_linear_block_fwd(call_where t, call_report *r, tl_real *y, const tl_real *x,
                           const tl_real *w, const tl_real *b, const tl_linear_geom *g, bool relu);
void call_linear_block_bwd(call_where t, call_report *r, tl_real *dx, tl_real *dw, tl_real *db,
                           const tl_real *dy, const tl_real *y, const tl_real *x, const tl_real *w,
                           const tl_linear_geom *g, bool fresh);
void call_xent_head_fwd(call_where t, call_report *r, tl_real *loss, tl_real *row_loss,
                        tl_real *prob, tl_metric_sums *sums, const tl_real *logits,
                        const int32_t *label, int rows, int classes);
void call_xent_head_bwd(call_where t, call_report *r, tl_real *dlogits, const tl_real *dloss,
                        const tl_real *prob, const int32_t *label, int rows, int classes);

#endif
