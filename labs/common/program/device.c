/* device.c: opens a device by name (tl/device.h). The one place that knows which devices exist. */
#include "tl/device.h"

#include <cblas.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "device_cpu.h"
#include "rungs.h"

/* The cpu keeps its table and step numbers beside the context. */
typedef struct cpu_context {
    tl_ctx ctx; /* first member: tl_device_close gets its address */
    tl_backend ops;
    tl_step step;
} cpu_context;

enum { MAX_THREADS = 1024 };

static tl_status open_cpu(cpu_context *cpu, const char *rungs, int threads) {
    TL_NEED(threads >= 0 && threads <= MAX_THREADS, TL_EINVAL,
            "THREADS=%d: use 1 to %d, or 0 for one per core", threads, (int)MAX_THREADS);
    /* Parallelism is ours, over images and tiles: BLAS threads inside would compete with it and
     * could change the order of sums with their number. */
    openblas_set_num_threads(1);
    cpu->ops = cpu_plain;
    TL_TRY(rungs_apply(&cpu->ops, rungs));
    tl_backend_fill(&cpu->ops);
    cpu->ctx.ops = &cpu->ops;
    cpu->ctx.threads = threads > 0 ? threads : omp_get_num_procs();
    cpu->ctx.step = &cpu->step;
    return tl_alloc_new(&cpu->ctx.alloc, &cpu_memory);
}

tl_status tl_device_open(tl_ctx **ctx, const char *device, const char *rungs, int threads) {
    *ctx = NULL;
    if (strcmp(device, "cuda") == 0 || strcmp(device, "hostcuda") == 0)
        return TL_FAIL(TL_EDEVICE,
                       "DEVICE=%s: this build has no such device yet; use DEVICE=cpu (or auto)",
                       device);
    TL_NEED(strcmp(device, "cpu") == 0 || strcmp(device, "auto") == 0, TL_EINVAL,
            "DEVICE=%s: unknown device; use auto, cpu, cuda or hostcuda", device);
    cpu_context *cpu = calloc(1, sizeof *cpu);
    TL_NEED(cpu, TL_ENOMEM, "no memory for a context");
    tl_status status = open_cpu(cpu, rungs, threads);
    if (status != TL_OK) {
        free(cpu);
        return status;
    }
    *ctx = &cpu->ctx;
    return TL_OK;
}

void tl_device_close(tl_ctx *ctx) {
    if (!ctx) return;
    tl_alloc_free(ctx->alloc);
    free(ctx);
}
