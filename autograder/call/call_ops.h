/* call_ops.h: calls as typed functions, one per operation; arguments as in tl/, with host arrays.
 *
 * call_<name> of each row of tl/ops.def takes what tl_<name> takes, but no workspace: those come
 * from here. Outputs are poisoned unless the row says INOUT, a NULL array stays NULL, the same
 * array twice is an operation in place. Geometry must have passed its check. `make prototypes`
 * writes them out into build/call_prototypes.h. */
#ifndef CALL_OPS_H
#define CALL_OPS_H

#include "call.h"
#include "train.h"

typedef const call_target *call_where;

#define CALL_PARAM(kind, ...)   CALL_PARAM_##kind(__VA_ARGS__)
#define CALL_PARAM_IN           TL_PARAM_IN
#define CALL_PARAM_OUT          TL_PARAM_OUT
#define CALL_PARAM_INOUT        TL_PARAM_OUT
#define CALL_PARAM_INOUT_UNLESS TL_PARAM_OUT
#define CALL_PARAM_VALUE        TL_PARAM_VALUE
#define CALL_PARAM_GEOM         TL_PARAM_GEOM
#define CALL_PARAM_VIA          TL_PARAM_VIA
#define CALL_PARAM_WORK(name, bytes)

#define CALL_TYPED(op, lab, flops, ...)                                                            \
    void call_##op(call_where t, call_report *r TL_EACH(CALL_PARAM, __VA_ARGS__));
#define OP       CALL_TYPED
#define OP_CUDA  CALL_TYPED
#define OP_FUSED CALL_TYPED /* TL_ENOTIMPL where a device has none */
#include "tl/ops.def"

/* ---- what is no operation of the table ---- */

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

/* which: 0 He normal, 1 He uniform, 2 Xavier normal, 3 Xavier uniform */
void call_init(call_where t, call_report *r, tl_real *w, size_t n, int which, int fan_in,
               int fan_out, uint64_t seed, uint32_t stream);
void call_schedule_lr(call_where t, call_report *r, double *lr, size_t n, uint64_t first,
                      const tl_schedule *schedule);
void call_graph(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const int32_t *labels,
                size_t label_count, const int64_t *program, size_t length);
/* program and numbers: train.h; the split holds host arrays of training and test images */
void call_train(call_where t, call_report *r, tl_real *results, size_t result_count,
                const tl_real *values, size_t value_count, const tl_device_split *split,
                const double number[TRAIN_NUMBERS], const int64_t *program, size_t length);

#endif
