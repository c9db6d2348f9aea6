/* gemm_tensor.h: rungs 7 and 8 of gemm for other kernels: products by tensor cores, whose sums are
 * finished on their way to C as tl/precision.h has it (CUDA C, float alone). */
#ifndef KERNELS_GEMM_TENSOR_H
#define KERNELS_GEMM_TENSOR_H

#include <stdbool.h>

#include "tl/matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a sum: C[i][j] = whole((accumulate ? C[i][j] : 0) + part(sum + part(bias[j]))),
 * where part() and whole() round to bfloat16, if that is wanted. bias NULL: none. */
typedef struct gemm_finish {
    const float *bias;
    bool part, whole;
} gemm_finish;

/* Sizes are counted in int: TL_EINVAL above this. */
enum { GEMM_TENSOR_MOST = 1 << 30 };

tl_status tl_gemm_tf32(tl_ctx *ctx, float *C, const float *A, const float *B,
                       const tl_matmul_geom *g, const gemm_finish *finish);
tl_status tl_gemm_bf16(tl_ctx *ctx, float *C, const float *A, const float *B,
                       const tl_matmul_geom *g, const gemm_finish *finish);

#ifdef __cplusplus
}
#endif
#endif
