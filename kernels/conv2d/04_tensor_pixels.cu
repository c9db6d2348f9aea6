/* 04_tensor_pixels.cu: forward and dx by tensor cores (04_tensor.h): images are packed, multiplied
 * (kernels/tensor_pixels.h, tensor_patch.h,
 * tensor_still.h), and what comes out is float, plane by plane.
 *
 * Bound: of wide layers what tensor cores multiply in mma.sync; a slice brings half the bytes of
 * that of gemm:8. Of small batches the tiles, which are too few for a GPU. */
#include "kernels/conv2d/04_tensor.h"
#include "kernels/tensor_products.h"

#ifndef TL_REAL_DOUBLE

/* To [n][out][high][wide]: y with its bias, or added to dx. */
template <class T, bool INPUT> struct to_planes {
    float *result;
    const float *bias; /* or NULL */

    template <int SIDE, class Team, class Sums, class Rows>
    __device__ float put(const Sums &sum, unsigned char *, const pixels_job &job, const Rows &rows,
                         int j0, int) const {
        int plane = job.high * job.wide;
        sum.each([&](int i, int j, const float *two) {
            int at = rows.output(i), n = at / plane;
            if (at < 0) return;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                int channel = j0 + j + e;
                if (channel >= job.out) break;
                float *to = result +
                            ((size_t)n * (size_t)job.out + (size_t)channel) * (size_t)plane +
                            (at - n * plane);
                if (INPUT)
                    *to = ::result<T>(*to + ::result<T>(two[e]));
                else
                    *to = ::result<T>(two[e] + (bias ? ::result<T>(bias[channel]) : 0));
            }
        });
        return 0;
    }
    template <int SIDE, class Team> __device__ void put_total(float, int, int) const {}
};

template <class T, bool INPUT>
static tl_status launch_as(tl_ctx *ctx, const pixels_job &job, const to_planes<T, INPUT> &end) {
    return fill_wide(job.out) ? sum_products<T, 128, INPUT>(ctx, job, end)
                              : sum_products<T, 64, INPUT>(ctx, job, end);
}

/* `plan->images` at a time: packed, then multiplied. */
template <class T, bool INPUT>
static tl_status run(tl_ctx *ctx, float *to, const float *from, const float *bias,
                     const tensor_plan &plan, void *work) {
    const tl_conv2d_geom &g = plan.g;
    pixels_job job = pixels_job_of(g, INPUT);
    to_planes<T, INPUT> end = {NULL, bias};
    int channels = INPUT ? g.k : g.c, pixels = job.h.pixels * job.w.pixels;
    unsigned char *images = (unsigned char *)work + plan.first;
    job.from = images, job.weights = work, job.channels = padded<T>(channels);
    for (int n = 0; n < g.n; n += plan.images) {
        int count = g.n - n < plan.images ? g.n - n : plan.images;
        size_t read = (size_t)n * (size_t)channels * (size_t)pixels;
        TL_TRY(tl_rung_conv2d_tensor_pack(ctx, images, from + read, (size_t)count, channels, pixels,
                                          plan.precision));
        job.count = count * job.high * job.wide;
        end.result = to + (size_t)n * (size_t)job.out * (size_t)job.high * (size_t)job.wide;
        TL_TRY(launch_as(ctx, job, end));
    }
    return TL_OK;
}

/* Weights [k][c][taps] become [k][taps][c]. */
extern "C" tl_status tl_rung_conv2d_tensor_fwd(tl_ctx *ctx, float *y, const float *x,
                                               const float *w, const float *b,
                                               const tensor_plan *plan, void *work) {
    const tl_conv2d_geom &g = plan->g;
    TL_TRY(tl_rung_conv2d_tensor_pack(ctx, work, w, (size_t)g.k, g.c, g.r * g.s, plan->precision));
    return plan->precision == TL_BF16 ? run<bf16, false>(ctx, y, x, b, *plan, work)
                                      : run<float, false>(ctx, y, x, b, *plan, work);
}

/* … and [c][taps][k]. */
extern "C" tl_status tl_rung_conv2d_tensor_bwd_input(tl_ctx *ctx, float *dx, const float *dy,
                                                     const float *w, const tensor_plan *plan,
                                                     void *work) {
    const tl_conv2d_geom &g = plan->g;
    TL_TRY(tl_rung_conv2d_tensor_pack(ctx, work, w, 1, g.k, g.c * g.r * g.s, plan->precision));
    return plan->precision == TL_BF16 ? run<bf16, true>(ctx, dx, dy, NULL, *plan, work)
                                      : run<float, true>(ctx, dx, dy, NULL, *plan, work);
}
#endif
