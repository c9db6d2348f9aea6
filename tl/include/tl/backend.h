/* tl/backend.h: one table of functions per device.
 *
 * Tape, modules and trainer call operations through ctx->ops only, and so run on any device. A
 * table starts as the plain path (the functions of the headers named beside each group); rungs of
 * kernels/ then overwrite entries with quicker functions of the same contract. An entry that a
 * device lacks is NULL until tl_backend_fill sets it to a function that returns TL_ENOTIMPL: there
 * is never a silent fall-back to another device. As in ggml's backends and BLIS's contexts. */
#ifndef TL_BACKEND_H
#define TL_BACKEND_H

#include "tl/conv2d.h"
#include "tl/conv3x3.h"
#include "tl/data.h"
#include "tl/elementwise.h"
#include "tl/fused.h"
#include "tl/layers.h"
#include "tl/matmul.h"
#include "tl/metrics.h"
#include "tl/net.h"
#include "tl/ops_row.h"
#include "tl/optim.h"
#include "tl/precision.h"
#include "tl/reduce.h"
#include "tl/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_backend {
    const char *name;    /* "cpu", "cuda", "hostcuda" */
    size_t column_bytes; /* scratch for im2col columns, see tl/conv2d.h */
    int capability;      /* a GPU's compute capability, 90 for 9.0; 0: no GPU */
    size_t cache_bytes;  /* of the last cache before memory, as the device says; 0: it does not */

    /* How products are computed, and for another precision than TL_FP32 the table for that one,
     * whose kernels those of this one call (tl/precision.h), and the one that rounds between
     * those, for what a rung of this precision does not take; else NULL. */
    tl_precision precision;
    const struct tl_backend *exact, *rounding;

    /* Memory of the device, given code. Copies to and from the host return when they are done;
     * copy and zero only queue: what comes later on this context finds them done. */
    tl_status (*copy_in)(tl_ctx *, void *device, const void *host, size_t bytes);
    tl_status (*copy_out)(tl_ctx *, void *host, const void *device, size_t bytes);
    tl_status (*copy)(tl_ctx *, void *to, const void *from, size_t bytes); /* device to device */
    tl_status (*zero)(tl_ctx *, void *device, size_t bytes);
    tl_status (*sync)(tl_ctx *);                         /* waits for all queued work */
    tl_status (*step_set)(tl_ctx *, const tl_step *now); /* *ctx->step = *now, in stream order */

    /* y[n] = x[n] rounded (tl_rounded); y may be x. NULL on the cpu in TL_FP32. */
    tl_status (*round_to)(tl_ctx *, tl_real *y, const tl_real *x, size_t n, tl_precision);

    /* gemm in TL_TF32, TL_BF16 or TL_FP16, of operands that are stored in it: TL_TF32 as floats
     * that are rounded, the others in 16 bits. NULL but in tables that are opened for it: the
     * vendor's library, which our products are timed beside (RUNGS=gemm:0), and the rungs that take
     * its place. TL_ENOTIMPL for a shape that a rung does not take. */
    tl_status (*stored_gemm)(tl_ctx *, tl_real *C, const void *A, const void *B,
                             const tl_matmul_geom *, tl_precision);

    /* Work recorded once and launched many times, given code; all four NULL where the device
     * cannot. Between begin and end operations are recorded instead of queued: no copy to or from
     * the host, no sync. end makes *graph, or with graph == NULL drops what was recorded. A graph
     * names the memory it was recorded with, and launches queue like any other work. */
    tl_status (*graph_begin)(tl_ctx *);
    tl_status (*graph_end)(tl_ctx *, void **graph);
    tl_status (*graph_launch)(tl_ctx *, void *graph);
    void (*graph_free)(tl_ctx *, void *graph); /* waits for its launches; NULL is allowed */

    /* The device's own clock, given code; all four NULL where the host's tells the same. mark
     * queues a moment, and makes *moment if that is NULL; between waits until both have passed.
     * hold lets the device wait for so long, so that what is queued meanwhile runs without gaps. */
    tl_status (*mark)(tl_ctx *, void **moment);
    tl_status (*between)(tl_ctx *, void *from, void *to, double *seconds);
    void (*mark_free)(tl_ctx *, void *moment); /* NULL is allowed */
    tl_status (*hold)(tl_ctx *, int microseconds);

    /* tl/ops.def: one entry per operation, with the arguments of its contract. The fused ones may
     * be NULL, and on the cpu those of CUDA alone are. */
#define TL_ENTRY(name, lab, flops, ...) tl_status (*name)(tl_ctx * TL_EACH(TL_PARAM, __VA_ARGS__));
#define OP                              TL_ENTRY
#define OP_CUDA                         TL_ENTRY
#define OP_FUSED                        TL_ENTRY
#include "tl/ops.def"
#undef TL_ENTRY
    /* Scratch that this device's conv2d_* make do with, at most tl_conv2d_work_bytes; NULL: all
     * of that. */
    size_t (*conv2d_work_bytes)(const tl_ctx *, const tl_conv2d_geom *);
    /* whether the kernels of conv2d_block_* take this geometry */
    bool (*conv2d_block_fits)(const tl_conv2d_block *);

    /* whole nets (tl/net.h); all three NULL where nets are composed module by module */
    tl_net_plan_fn net_plan;
    tl_net_fwd_fn net_fwd;
    tl_net_bwd_fn net_bwd;

    /* every operation that is here has the same bits on every machine ("portable", tl/device.h) */
    bool portable;
} tl_backend;

/* Sets every operation that is still NULL to one that fails with TL_ENOTIMPL, naming it, and
 * BITS=portable if that is why it is missing. */
void tl_backend_fill(tl_backend *ops);

#ifdef __cplusplus
}
#endif
#endif
