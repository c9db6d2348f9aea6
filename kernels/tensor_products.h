/* tensor_products.h: which kernel multiplies a job (kernels/tensor_pixels.h): of 3x3, with patches
 * for all taps, if outputs come in squares; and of few channels with weights that stay. */
#ifndef KERNELS_TENSOR_PRODUCTS_H
#define KERNELS_TENSOR_PRODUCTS_H

#include "kernels/tensor_still.h"

template <class T, int SIDE, bool INPUT, class End>
static tl_status sum_products(tl_ctx *ctx, const pixels_job &job, const End &end) {
    if (stays<T>(job)) return sum_still_on<T, INPUT>(ctx, job, end);
    return in_squares(job) ? sum_patches_on<T, SIDE, INPUT>(ctx, job, end)
                           : sum_pixels_on<T, SIDE, INPUT>(ctx, job, end);
}

/* Totals of a channel (put_total). */
template <class T> static inline int totals_of(const pixels_job &job) {
    return stays<T>(job) ? still_blocks(job) * STILL_TEAMS : (job.count - 1) / TENSOR_ROWS + 1;
}

#endif
