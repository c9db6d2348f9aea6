/* tl/precision.h: in which precision a net's products are computed.
 *
 * Numbers are stored in float throughout. Master weights, gradients, the optimiser, the loss and
 * all sums are float; a precision says where a value is rounded to fewer bits on its way, so that
 * tensor cores can take it. These points are those of torch.autocast for the layers of tl/nets.h,
 * and a fused kernel rounds at the same ones:
 *
 *   operation              TL_TF32                TL_BF16
 *   conv2d, linear: fwd    x, w                   x, w, b; y
 *     bwd_input            dy, w                  dy, w; what is added to dx; dx
 *     bwd_weight           dy, x                  dy, x; what is added to dw
 *     bwd_bias             nothing                dy; what is added to db
 *   batchnorm, dropout     nothing                x or dy; y, or what is added to dx; dx
 *   gemm                   A, B                   A, B: C is a sum of floats
 *   relu, maxpool2d        nothing: they choose among values that are rounded already, and of equal
 *                          ones the first wins
 *   softmax_xent           nothing
 *
 * TL_TF32X3 rounds nothing on its way: a product by tensor cores takes each operand as a sum of two
 * numbers of TF32 and leaves out what both low ones give, 2^-22 of a term: float's precision, from
 * three products of TF32.
 *
 * TL_BF16: bfloat16, 8 bits of significand, to nearest, ties to even (IEEE 754). What is too large
 * becomes infinite; the exponent's range is float's.
 * TL_TF32: 11 bits of significand, to nearest, ties away from 0, as PTX's cvt.rna.tf32.f32: twice
 * the operands' 11 bits are exact in float. (Kalamkar et al. 2019 for bfloat16; NVIDIA's PTX ISA
 * for TF32.)
 *
 * What no kernel for a type takes (kernels/rungs.def) is rounded between those for float: the same
 * numbers, and slower than TL_FP32. TL_TF32X3 is not to be taken for TL_FP32: a run in it names its
 * kernel (RUNGS=gemm:11), through which the plain path's products go, or is refused. */
#ifndef TL_PRECISION_H
#define TL_PRECISION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_precision { TL_FP32, TL_TF32, TL_BF16, TL_TF32X3, TL_PRECISIONS } tl_precision;
#define TL_PRECISION_NAMES                                                                         \
    { "fp32", "tf32", "bf16", "tf32x3" }

/* "fp32", "tf32", "bf16" or "tf32x3"; NULL for another number. */
const char *tl_precision_name(tl_precision precision);

/* The other way; TL_EINVAL lists the names. */
tl_status tl_precision_find(tl_precision *precision, const char *name);

/* x with its low bits rounded away; a NaN stays one. */
static inline TL_HD float tl_rounded_once(float x, bool to_bf16) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) { /* infinite or NaN, whose bits may all be low ones */
        bits |= (bits & 0x007fffffu) ? 0x00400000u : 0;
    } else if (to_bf16) {
        bits += 0x7fffu + (bits >> 16 & 1);
        bits &= 0xffff0000u;
    } else {
        bits += 0x1000u; /* of the magnitude: the sign stands apart */
        bits &= 0xffffe000u;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x as the precision holds it. In the double build rounding starts at the next float. */
static inline TL_HD float tl_rounded(float x, tl_precision precision) {
    if (precision == TL_FP32) return x;
    float high = tl_rounded_once(x, precision == TL_BF16), low = x - high;
    bool both = precision == TL_TF32X3 && low == low; /* (infinity has nothing left) */
    return both ? high + tl_rounded_once(low, false) : high;
}

#ifdef __cplusplus
}
#endif
#endif
