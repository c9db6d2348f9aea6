/* tl/device.h: opening a device by name; what programs call once at the start. */
#ifndef TL_DEVICE_H
#define TL_DEVICE_H

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A context on `device`: "cpu", "cuda", "hostcuda", or "auto" (a GPU if there is one, else cpu).
 *   rungs    "all", "none", or "conv2d:1,sgemm:4": which kernels of kernels/ replace the plain
 *            path; a name or number that does not exist is TL_EINVAL and lists those that do
 *   threads  cpu threads, 0 for one per core
 * TL_EDEVICE says what is missing and how to fix it. On failure *ctx is NULL. */
tl_status tl_device_open(tl_ctx **ctx, const char *device, const char *rungs, int threads);

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
