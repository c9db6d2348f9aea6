/* tl/plugin.h: a device in a shared object of its own, opened when a program runs.
 *
 * So one program runs with a GPU, without one, and without the CUDA toolkit. A plug-in exports one
 * symbol, tl_plugin_open; everything else in it is hidden and bound inside (-fvisibility=hidden,
 * -Wl,-Bsymbolic, RTLD_LOCAL), because the host program has functions of the same names for the
 * cpu. It lies beside the program: libtl_cuda.so, libtl_hostcuda.so. */
#ifndef TL_PLUGIN_H
#define TL_PLUGIN_H

#include "tl/backend.h"
#include "tl/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_PLUGIN_ABI = 15 }; /* grows with every change of tl_backend, tl_ctx or this file */

/* What the program does for the plug-in. */
typedef struct tl_host_services {
    /* Stores the line that tl_error() will return; the plug-in's own tl_fail ends here. */
    void (*set_error)(const char *line);
} tl_host_services;

struct hostcuda_counts; /* hostcuda/counts.h */

typedef struct tl_plugin {
    /* TL_OK if a device can be opened here, else TL_EDEVICE with what is missing and how to fix
     * it. */
    tl_status (*available)(void);
    /* Writes the name of the calling thread's device ("NVIDIA H200") into text[size], cut to fit;
     * "" if it has none. */
    void (*describe)(char *text, size_t size);
    /* Fills ctx->stream, blas and step and *ops with the plain path, by the index and the stream of
     * the options (tl/device.h). *memory is where memory comes from; if its raw_get is NULL, the
     * device's own is written there. (The program makes ctx->alloc from it.) Rungs are applied by
     * apply_rungs afterwards. */
    tl_status (*open)(tl_ctx *ctx, tl_backend *ops, tl_alloc_source *memory,
                      const tl_device_options *options);
    /* as in tl/device.h; again when ops is that of another precision than TL_FP32 */
    tl_status (*apply_rungs)(tl_backend *ops, const char *choice, tl_precision run);
    /* Gives back what open took; the allocator has been freed before. */
    void (*close)(tl_ctx *ctx, const tl_alloc_source *memory, const tl_device_options *options);
    /* What its kernels did to memory, for whoever judges them; NULL if nobody counts. */
    const struct hostcuda_counts *(*counts)(void);
} tl_plugin;

/* Returns the plug-in, or NULL (with a line through host->set_error) if it was built for another
 * ABI or precision. */
typedef const tl_plugin *(*tl_plugin_open_fn)(unsigned abi, size_t real_size,
                                              const tl_host_services *host);

#ifdef __cplusplus
}
#endif
#endif
