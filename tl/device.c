/* device.c: opens a device by name (tl/device.h). The one place that knows which devices exist. */
#include "tl/device.h"

#include <cblas.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device_cpu.h"
#include "device_plugin.h"
#include "precision_apply.h"
#include "rungs_apply.h"

/* A context, and what has to live as long as it does. */
typedef struct device {
    tl_ctx ctx; /* first member: tl_device_close gets its address */
    tl_backend ops;
    tl_backend exact, rounding; /* what ops->… lead to, in another precision than float's */
    tl_step step;               /* of the cpu; other devices have theirs in their own memory */
    const tl_plugin *plugin;    /* NULL on the cpu */
    tl_device_options options;  /* of its pointers only the stream is sure to be there later */
    tl_alloc_source memory;
} device;

enum { MAX_THREADS = 1024 };

static bool is(const char *name, const char *wanted) { return strcmp(name, wanted) == 0; }

static tl_status open_cpu(device *d, tl_precision precision) {
    TL_NEED(d->options.index == 0 && !d->options.borrow_stream, TL_EINVAL,
            "DEVICE=cpu: there is no GPU %d and no stream on it", d->options.index);
    /* Parallelism is ours, over images and tiles: BLAS threads inside would compete with it and
     * could change the order of sums with their number. (libtl.so has an OpenBLAS of its own.) */
    openblas_set_num_threads(1);
    d->ops = cpu_plain;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (cache <= 0) cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    d->ops.cache_bytes = cache > 0 ? (size_t)cache : 0;
    TL_TRY(rungs_apply(&d->ops, d->options.rungs, precision));
    TL_TRY(precision_apply(&d->ops, &d->exact, &d->rounding, precision));
    if (precision != TL_FP32) TL_TRY(rungs_apply(&d->ops, d->options.rungs, precision));
    TL_TRY(precision_taken(&d->ops));
    d->ctx.step = &d->step;
    if (!d->memory.raw_get) d->memory = cpu_memory;
    TL_TRY(tl_alloc_new(&d->ctx.alloc, &d->memory));
    return tl_device_set_threads(&d->ctx, d->options.threads);
}

/* d->plugin is known to be available. */
static tl_status open_plugin(device *d, tl_precision precision) {
    TL_TRY(d->plugin->open(&d->ctx, &d->ops, &d->memory, &d->options));
    tl_status status = d->plugin->apply_rungs(&d->ops, d->options.rungs, precision);
    if (status == TL_OK) status = precision_apply(&d->ops, &d->exact, &d->rounding, precision);
    if (status == TL_OK && precision != TL_FP32)
        status = d->plugin->apply_rungs(&d->ops, d->options.rungs, precision);
    if (status == TL_OK) status = precision_taken(&d->ops);
    if (status == TL_OK) status = tl_alloc_new(&d->ctx.alloc, &d->memory);
    if (status != TL_OK) d->plugin->close(&d->ctx, &d->memory, &d->options);
    d->ctx.threads = 1; /* of the host; the device has its own */
    return status;
}

/* Leaves *plugin NULL for the cpu. Only "auto" may turn from a GPU that is not there to the cpu; a
 * GPU that is there but cannot be opened is a failure under any name. */
static tl_status choose(const tl_plugin **plugin, const char *name) {
    *plugin = NULL;
    if (is(name, "cpu")) return TL_OK;
    if (is(name, "auto")) {
        if (device_plugin_load(plugin, "cuda") != TL_OK || (*plugin)->available() != TL_OK)
            *plugin = NULL;
        return TL_OK;
    }
    TL_NEED(is(name, "cuda") || is(name, "hostcuda"), TL_EINVAL,
            "DEVICE=%s: unknown device; use auto, cpu, cuda or hostcuda", name);
    TL_TRY(device_plugin_load(plugin, name));
    return (*plugin)->available();
}

static tl_status check_threads(int threads) {
    TL_NEED(threads >= 0 && threads <= MAX_THREADS, TL_EINVAL,
            "THREADS=%d: use 1 to %d, or 0 for one per core", threads, (int)MAX_THREADS);
    return TL_OK;
}

tl_status tl_device_set_threads(tl_ctx *ctx, int threads) {
    TL_NEED(ctx, TL_EINVAL, "tl_device_set_threads: ctx is NULL");
    TL_TRY(check_threads(threads));
    const device *d = (const device *)ctx;
    if (!d->plugin) ctx->threads = threads > 0 ? threads : omp_get_num_procs();
    return TL_OK;
}

tl_status tl_device_set_step(tl_ctx *ctx, const tl_step *now) {
    TL_NEED(ctx && now, TL_EINVAL, "tl_device_set_step: ctx or the step is NULL");
    return ctx->ops->step_set(ctx, now);
}

tl_status tl_device_get(tl_ctx *ctx, void **block, size_t bytes) {
    TL_NEED(ctx && block, TL_EINVAL, "tl_device_get: ctx or the place for the block is NULL");
    return tl_alloc_get(ctx->alloc, block, bytes);
}

tl_status tl_device_put(tl_ctx *ctx, void *block) {
    TL_NEED(ctx, TL_EINVAL, "tl_device_put: ctx is NULL");
    return tl_alloc_put(ctx->alloc, block);
}

tl_status tl_device_copy_in(tl_ctx *ctx, void *to, const void *host, size_t bytes) {
    TL_NEED(ctx && to && host, TL_EINVAL, "tl_device_copy_in: ctx or a pointer is NULL");
    return ctx->ops->copy_in(ctx, to, host, bytes);
}

tl_status tl_device_copy_out(tl_ctx *ctx, void *host, const void *from, size_t bytes) {
    TL_NEED(ctx && host && from, TL_EINVAL, "tl_device_copy_out: ctx or a pointer is NULL");
    return ctx->ops->copy_out(ctx, host, from, bytes);
}

tl_status tl_device_zero(tl_ctx *ctx, void *block, size_t bytes) {
    TL_NEED(ctx && block, TL_EINVAL, "tl_device_zero: ctx or the pointer is NULL");
    return ctx->ops->zero(ctx, block, bytes);
}

tl_status tl_device_sync(tl_ctx *ctx) {
    TL_NEED(ctx, TL_EINVAL, "tl_device_sync: ctx is NULL");
    return ctx->ops->sync(ctx);
}

tl_status tl_device_open(tl_ctx **ctx, const char *name, const char *rungs, int threads) {
    tl_device_options options = {.rungs = rungs, .threads = threads};
    return tl_device_open_with(ctx, name, &options);
}

tl_status tl_device_open_with(tl_ctx **ctx, const char *name, const tl_device_options *options) {
    return tl_device_open_in(ctx, name, options, TL_FP32);
}

tl_status tl_device_open_in(tl_ctx **ctx, const char *name, const tl_device_options *options,
                            tl_precision precision) {
    TL_NEED(ctx, TL_EINVAL, "tl_device_open: the place for the context is NULL");
    *ctx = NULL;
    TL_NEED(name && options, TL_EINVAL,
            "tl_device_open: the name of the device or the options are NULL");
    TL_TRY(check_threads(options->threads));
    TL_NEED(options->index >= 0, TL_EINVAL, "GPU %d: they are counted from 0", options->index);
    const tl_plugin *plugin;
    TL_TRY(choose(&plugin, name));
    device *d = calloc(1, sizeof *d);
    TL_NEED(d, TL_ENOMEM, "no memory for a context");
    d->plugin = plugin;
    d->options = *options;
    if (!d->options.rungs) d->options.rungs = "all";
    if (options->memory) d->memory = *options->memory;
    tl_status status = plugin ? open_plugin(d, precision) : open_cpu(d, precision);
    if (status != TL_OK) {
        free(d);
        return status;
    }
    tl_backend_fill(&d->ops);
    d->ctx.ops = &d->ops;
    *ctx = &d->ctx;
    return TL_OK;
}

void tl_device_describe(const tl_ctx *ctx, char *text, size_t size) {
    const device *d = (const device *)ctx;
    if (size > 0) text[0] = '\0';
    if (d && d->plugin) d->plugin->describe(text, size);
}

void tl_device_close(tl_ctx *ctx) {
    if (!ctx) return;
    device *d = (device *)ctx;
    tl_alloc_free(ctx->alloc);
    if (d->plugin) d->plugin->close(ctx, &d->memory, &d->options);
    free(d);
}
