/* tl/context.h: everything an operation needs to know about where it runs.
 *
 * There is no global state: a tl_ctx names the device, its dispatch table, its allocator, the
 * stream and BLAS handle of a GPU, and the numbers of the current training step. Every operation
 * takes one as its first argument. A context is used by one host thread at a time.
 *
 * What holds for every operation of tl/ops.def, beside its own contract:
 *   NULL        No pointer may be NULL, ctx, geometry and options included, unless the contract
 *               says so (OPTIONAL in ops.def): TL_EINVAL, and the line names the operation and its
 *               pointers, of which one is NULL. Checks look at what the host can see; numbers in
 *               device memory are not looked at on a GPU.
 *   waiting     On a GPU an operation only queues work on ctx->stream: it does not wait for the
 *               device, copy to the host or allocate, so that a step can be captured.
 *   alignment   An array needs the alignment of its element and no more: tl_real its own size (4,
 *               or 8 in the double build), int32_t 4, uint8_t 1, tl_step and tl_metric_sums 8.
 *               Scratch (WORK in ops.def) is to be aligned to 256 bytes, as tl_alloc_get gives it.
 *               Kernels that load several elements at once look at the addresses first and take a
 *               path with the same bits. cuBLAS alone may choose its kernel by alignment: on cuda,
 *               products repeat their bits for arrays that are aligned alike. */
#ifndef TL_CONTEXT_H
#define TL_CONTEXT_H

#include <stdint.h>

#include "tl/alloc.h"
#include "tl/real.h"
#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tl_backend;

/* The numbers that change from step to step. They lie in device memory, so that a captured step
 * can be replayed with other values: kernels read them through the pointer when they run. */
typedef struct tl_step {
    uint64_t seed;  /* of the run; all draws derive from it */
    uint64_t index; /* optimiser steps done so far in the run, 0 in the first step */
    uint32_t epoch; /* counted from 0 */
    uint32_t first; /* position in the epoch's order of the batch's first image */
    double lr;      /* learning rate of this step */
} tl_step;

typedef struct tl_ctx {
    const struct tl_backend *ops; /* dispatch table: the plain path, then rungs over it */
    int threads;                  /* cpu: OpenMP threads to use; GPUs ignore it */
    void *stream;                 /* cudaStream_t on the CUDA devices, NULL on cpu */
    void *blas;                   /* cublasHandle_t on the CUDA devices, NULL on cpu */
    tl_alloc *alloc;              /* all device memory comes from here */
    tl_step *step;                /* in device memory; written by ops->step_set only */
} tl_ctx;

#ifdef __cplusplus
}
#endif
#endif
