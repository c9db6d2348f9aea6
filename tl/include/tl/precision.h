/* tl/precision.h: in which precision a net's products are computed.
 *
 * Numbers are stored in float throughout. Master weights, gradients, the optimiser, the loss and
 * all sums are float; a precision says where a value is rounded to fewer bits on its way, so that
 * tensor cores can take it. These points are those of torch.autocast for the layers of tl/nets.h,
 * and a fused kernel rounds at the same ones:
 *
 *   operation              TL_TF32                TL_BF16, TL_FP16
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
 * TL_FP16: IEEE 754's binary16, 11 bits of significand, to nearest, ties to even. From 65520 on a
 * number becomes infinite; below 2^-14 = 6.1e-5 halves are 2^-24 apart, so bits go, and up to
 * 2^-25 = 3e-8 a number becomes 0. That is where small gradients end: nothing scales the loss.
 * TL_TF32: 11 bits of significand, to nearest, ties away from 0, as PTX's cvt.rna.tf32.f32: twice
 * the operands' 11 bits are exact in float. (Kalamkar et al. 2019 for bfloat16; Micikevicius et al.
 * 2018 for training in halves; NVIDIA's PTX ISA for TF32.)
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

typedef enum tl_precision {
    TL_FP32,
    TL_TF32,
    TL_BF16,
    TL_FP16,
    TL_TF32X3,
    TL_PRECISIONS
} tl_precision;
#define TL_PRECISION_NAMES                                                                         \
    { "fp32", "tf32", "bf16", "fp16", "tf32x3" }

/* "fp32", "tf32", "bf16", "fp16" or "tf32x3"; NULL for another number. */
const char *tl_precision_name(tl_precision precision);

/* The other way; TL_EINVAL lists the names. */
tl_status tl_precision_find(tl_precision *precision, const char *name);

/* Whether numbers take 16 bits in it: then results are rounded, too, and not operands alone. */
static inline TL_HD bool tl_in_16_bits(tl_precision precision) {
    return precision == TL_BF16 || precision == TL_FP16;
}

/* The magnitude of a float, by its bits, as a half holds it. */
static inline TL_HD uint32_t tl_rounded_to_half(uint32_t bits) {
    uint32_t small, large = (bits + 0x0fffu + (bits >> 13 & 1)) & 0xffffe000u;
    float x;
    if (large >= 0x47800000u) large = 0x7f800000u; /* 65536 is one too many for the exponent */
    memcpy(&x, &bits, sizeof x);
    x = (x + 0.5f) - 0.5f; /* below 2^-14 halves are as far apart as floats from 1/2 to 1 */
    memcpy(&small, &x, sizeof small);
    return bits < 0x38800000u ? small : large;
}

/* x with its low bits rounded away, in TL_TF32, TL_BF16 or TL_FP16; a NaN stays one. */
static inline TL_HD float tl_rounded_once(float x, tl_precision precision) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) { /* infinite or NaN, whose bits may all be low ones */
        bits |= (bits & 0x007fffffu) ? 0x00400000u : 0;
    } else if (precision == TL_BF16) {
        bits += 0x7fffu + (bits >> 16 & 1);
        bits &= 0xffff0000u;
    } else if (precision == TL_FP16) {
        bits = (bits & 0x80000000u) | tl_rounded_to_half(bits & 0x7fffffffu);
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
    if (precision != TL_TF32X3) return tl_rounded_once(x, precision);
    float high = tl_rounded_once(x, TL_TF32), low = x - high;
    return low == low ? high + tl_rounded_once(low, TL_TF32)
                      : high; /* (of infinity none is left) */
}

#ifdef __cplusplus
}
#endif
#endif
