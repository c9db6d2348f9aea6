/* 04_tensor.h: convolution by tensor cores, of copies that are rounded and lie channel by channel.
 *
 * Rung 4 in TF32 and rung 5 in bfloat16 are one source: T is float or bf16 (kernels/tensor_tile.h).
 *
 * What is multiplied is first copied into scratch: rounded to T, and with the channels of a pixel
 * side by side (NHWC), filled up with zeros to whole slices. So a slice of a tile is whole lines of
 * 64 bytes, which cp.async brings and ldmatrix reads, and no number is rounded twice. The three
 * products are sums of a tile:
 *
 *   forward   [outputs of images] x [k]   over taps and c     both factors along the sum
 *   dx        [pixels of images] x [c]    over taps and k     the same, of dy
 *   dw        [taps and c] x [k]          over outputs        both across it
 *
 *   04_tensor.cu          which layers are taken, how scratch is divided, and the tables' entries
 *   04_tensor_pack.cu     the copies
 *   04_tensor_pixels.cu   forward and dx
 *   04_tensor_weight.cu   dw
 *   04_tensor_patches.cu  dw of 3x3, of all taps at once
 *   04_tensor_shares.cu   its shares, added */
#ifndef CONV2D_TENSOR_H
#define CONV2D_TENSOR_H

#include "kernels/rungs.h"
#include "kernels/tensor_conv.h"

enum { LEAST_CHANNELS = 16 }; /* each way: of fewer a slice would be mostly zeros */

typedef enum tensor_pass { TENSOR_FWD, TENSOR_INPUT, TENSOR_WEIGHT } tensor_pass;

/* How scratch is divided: first the weights in the order of the sum, or the shares' sums of dw;
 * then what is copied of so many images: x, and of dw dy as well, of dx dy alone. */
typedef struct tensor_plan {
    tl_conv2d_geom g;
    tl_precision precision;
    int images;   /* at a time */
    int shares;   /* of the outputs of so many images, in dw */
    size_t first; /* bytes of the first part */
    size_t bytes; /* of all */
} tensor_plan;

/* Two neighbouring sums of dw to a line's filters k and k + 1, if they are there. */
static inline __device__ void put_sums(float *line, int k, const float *two,
                                       const weight_job &job) {
    if (job.g.k % 2 == 0 && !job.add) { /* a line begins where two numbers may be stored at once */
        if (k < job.g.k) *(pack<2> *)(line + k) = pack<2>{{two[0], two[1]}};
        return;
    }
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (k + e < job.g.k) line[k + e] = job.add ? line[k + e] + two[e] : two[e];
}

#ifdef __cplusplus
extern "C" {
#endif

/* to[i][col][row] = from[i][row][col] for i below `batches`, rounded to the precision; zeros for
 * rows up to whole slices. */
tl_status tl_rung_conv2d_tensor_pack(tl_ctx *ctx, void *to, const float *from, size_t batches,
                                     int rows, int cols, tl_precision precision);
tl_status tl_rung_conv2d_tensor_fwd(tl_ctx *ctx, float *y, const float *x, const float *w,
                                    const float *b, const tensor_plan *plan, void *work);
tl_status tl_rung_conv2d_tensor_bwd_input(tl_ctx *ctx, float *dx, const float *dy, const float *w,
                                          const tensor_plan *plan, void *work);
tl_status tl_rung_conv2d_tensor_bwd_weight(tl_ctx *ctx, float *dw, const float *dy, const float *x,
                                           const tensor_plan *plan, void *work);

#ifdef __cplusplus
}
#endif
#endif
