/* tl/device.h: opening a device by name; what programs call once at the start. */
#ifndef TL_DEVICE_H
#define TL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "tl/context.h"
#include "tl/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context on `device`: "cpu", "cuda", "auto" (a GPU if there is one, else cpu), or "hostcuda":
 * the CUDA kernels on the host's processor, where mistakes of memory are told on stderr.
 *   rungs    which quicker kernels replace the plain ones: "all" (or NULL), "none", or some by name
 *            and number, "conv2d:1"; one that does not exist is TL_EINVAL and lists those that do.
 *            They keep the contracts, but add and round otherwise than the plain ones.
 *            "portable", on the cpu: the same bits on every machine that has AVX2 and fma, at any
 *            number of threads (kernels/README.md); an operation that cannot promise it is
 *            TL_ENOTIMPL, and a library that was built for less has none: TL_EINVAL
 *   threads  cpu threads, 0 for one per core
 * TL_EDEVICE says what is missing and how to fix it. On failure *ctx is NULL. */
tl_status tl_device_open(tl_ctx **ctx, const char *device, const char *rungs, int threads);

/* What a caller brings along, where it has its own; all zero: nothing, as tl_device_open. */
typedef struct tl_device_options {
    const char *rungs; /* as above; NULL is "all" */
    int threads;       /* as above */
    int index;         /* which GPU of those that CUDA_VISIBLE_DEVICES leaves; 0 elsewhere */
    /* Queue work on this cudaStream_t instead of a new one. It stays the caller's and must outlive
     * the context. NULL is CUDA's default stream, so a flag says whether there is one. */
    bool borrow_stream;
    void *stream;
    /* Where all device memory comes from, that of the context itself included (blocks aligned to
     * 256 bytes); NULL: the device's own. What its `user` points to must outlive the context. */
    const tl_alloc_source *memory;
} tl_device_options;

/* tl_device_open with what the caller brings. A GPU of another index than 0 becomes the calling
 * thread's current device, and must be that whenever the context is used. A stream or an index on
 * a device that has none is TL_EINVAL. */
tl_status tl_device_open_with(tl_ctx **ctx, const char *device, const tl_device_options *options);

/* The same, and products are computed in `precision` (tl/precision.h), which is TL_FP32 above.
 * TL_EINVAL for another one in the double build, or if the GPU's tensor cores lack it. */
tl_status tl_device_open_in(tl_ctx **ctx, const char *device, const tl_device_options *options,
                            tl_precision precision);

/* From the next operation on, cpu threads to use: 1 to 1024, or 0 for one per core. The bits do not
 * depend on it. TL_EINVAL for other numbers; nothing to do on a GPU. */
tl_status tl_device_set_threads(tl_ctx *ctx, int threads);

/* Queues *ctx->step = *now: the numbers of a step (tl/context.h) lie in device memory, where
 * operations read them when their turn comes. Pass ctx->step to those that take a step. */
tl_status tl_device_set_step(tl_ctx *ctx, const tl_step *now);

/* Memory of the device, in bytes. _get: as tl_alloc_get; _put: NULL is allowed. The copies return
 * when they are done; _zero only queues, and what comes later on this context finds it done; _sync
 * waits for all that is queued. On the cpu the device's memory is the program's own: any pointer of
 * it may be given to an operation. */
tl_status tl_device_get(tl_ctx *ctx, void **block, size_t bytes);
tl_status tl_device_put(tl_ctx *ctx, void *block);
tl_status tl_device_copy_in(tl_ctx *ctx, void *device, const void *host, size_t bytes);
tl_status tl_device_copy_out(tl_ctx *ctx, void *host, const void *device, size_t bytes);
tl_status tl_device_zero(tl_ctx *ctx, void *device, size_t bytes);
tl_status tl_device_sync(tl_ctx *ctx);

/* The name that the device's driver gives the hardware behind ctx ("NVIDIA H200"), cut to fit; ""
 * for the cpu. */
void tl_device_describe(const tl_ctx *ctx, char *text, size_t size);

/* Frees the context and its allocator; everything made in it must have been freed. NULL is allowed.
 */
void tl_device_close(tl_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
