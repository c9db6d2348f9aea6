/* launch.c: what a launch must satisfy, and the launch as an operation of a stream. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static void complain(const hc_launch *l, const char *kind, const char *what, const char *likely) {
    hc_complain(kind, l->site.file, l->site.line, likely,
                "kernel %s<<<(%u,%u,%u), (%u,%u,%u), %zu>>>: %s", l->kernel, l->grid.x, l->grid.y,
                l->grid.z, l->block.x, l->block.y, l->block.z, l->dynamic_shared, what);
}

static cudaError_t check_size(const hc_launch *l) {
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    const char *what = NULL, *likely = "";
    if (!l->entry) {
        complain(l, "null-kernel", "the kernel pointer is null", "the pointer was never assigned");
        return cudaErrorInvalidDeviceFunction;
    }
    if (threads == 0)
        what = "a block of 0 threads",
        likely = "a block size that came out as 0, by integer division?";
    else if (threads > THREADS_MAX || l->block.x > 1024 || l->block.y > 1024 || l->block.z > 64)
        what = "a block has at most 1024 threads (and 1024, 1024, 64 per direction)",
        likely = "x, y and z multiply: dim3(32, 32) is already full; make more blocks instead";
    else if (l->grid.x == 0 || l->grid.y == 0 || l->grid.z == 0)
        what = "a grid of 0 blocks",
        likely =
            "n / block rounds down: write (n + block - 1) / block, and launch nothing for n = 0";
    else if (l->grid.x > 0x7fffffffu || l->grid.y > 65535 || l->grid.z > 65535)
        what = "a grid has at most 2147483647 x 65535 x 65535 blocks",
        likely = "put the long direction into x, or let each thread do more than one element";
    if (what) {
        complain(l, "launch-configuration", what, likely);
        return cudaErrorInvalidConfiguration;
    }
    if (l->cooperative && threads * l->grid.x * l->grid.y * l->grid.z > WHOLE_MAX) {
        complain(l, "launch-configuration", "a cooperative launch has at most 16384 threads here",
                 "all blocks are there at once: launch as many as "
                 "cudaOccupancyMaxActiveBlocksPerMultiprocessor and the device's "
                 "multiProcessorCount say, and let each thread do more than one element");
        return cudaErrorCooperativeLaunchTooLarge;
    }
    if (hc_shared_limit(l) != cudaSuccess) {
        complain(l, "shared-too-large", "more than 48 KB of dynamic shared memory",
                 "ask for it with cudaFuncSetAttribute(kernel, "
                 "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

/* A host pointer would be followed on a CPU without a fault; on a GPU it is one. */
static cudaError_t check_pointers(const hc_launch *l) {
    for (int i = 0; i < l->pointer_count; i++) {
        if (!l->pointers[i] || hc_space_of(l->pointers[i], NULL) != HC_HOST) continue;
        hc_text t;
        hc_report_begin(&t, "host-pointer", l->site.file, l->site.line);
        hc_add(&t, "argument %d of kernel %s is %p, which is host memory", l->positions[i],
               l->kernel, l->pointers[i]);
        hc_report_likely(&t, "pass the pointer that cudaMalloc gave, and copy the data there with "
                             "cudaMemcpy(..., cudaMemcpyHostToDevice)");
        hc_report_end(&t);
        hc_fail_sticky(cudaErrorIllegalAddress, l->site);
        return cudaErrorIllegalAddress;
    }
    return cudaSuccess;
}

static cudaError_t run(hc_op *op) {
    hc_arena_open();
    cudaError_t error = hc_grid_run(&op->u.launch);
    hc_arena_close();
    if (error) hc_fail_sticky(error, op->site);
    return error;
}

static void drop(hc_op *op) { free(op->u.launch.arguments); }

cudaError_t hc_launch_kernel(const hc_launch *launch) {
    hc_enter();
    cudaError_t error = hc_sticky();
    if (!error) error = check_size(launch);
    if (!error) error = hc_counts_failure();
    if (error && error != hc_sticky()) hc_note_unchecked(launch->site, launch->kernel);
    if (!error) error = check_pointers(launch);
    if (!error) {
        hc_op *op = hc_op_new(launch->kernel, run, launch->site.file, launch->site.line);
        op->u.launch = *launch;
        op->u.launch.arguments = aligned_alloc(64, (launch->argument_bytes + 63) / 64 * 64);
        if (!op->u.launch.arguments) abort();
        memcpy(op->u.launch.arguments, launch->arguments, launch->argument_bytes);
        op->drop = drop;
        error = hc_queue(launch->stream, op);
    }
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

/* ---- kernels by an untyped address ---- */

typedef struct noted_kernel {
    const void *entry;
    const char *name;
    hc_launch_array launch;
} noted_kernel;
static noted_kernel *noted;
static size_t noted_count;

void hc_note_kernel(const void *entry, const char *name, hc_launch_array launch) {
    hc_enter();
    size_t i = 0;
    while (i < noted_count && noted[i].entry != entry) i++;
    if (i == noted_count) {
        noted = realloc(noted, ++noted_count * sizeof *noted);
        if (!noted) abort();
        noted[i] = (noted_kernel){entry, name, launch};
    }
    hc_leave();
}

cudaError_t hc_launch_noted(hc_launch *launch, const void *entry, void **arguments) {
    hc_enter();
    const noted_kernel *found = NULL;
    for (size_t i = 0; i < noted_count; i++)
        if (noted[i].entry == entry) found = &noted[i];
    cudaError_t error = cudaErrorInvalidDeviceFunction;
    if (found) {
        launch->kernel = found->name;
        launch->entry = entry;
        error = found->launch(launch, arguments);
    } else {
        launch->kernel = "at this address";
        if (entry)
            complain(launch, "null-kernel", "this address is no kernel's",
                     "pass the kernel itself, or a pointer that (void *)kernel has given");
        else
            check_size(launch);
        hc_fail(error);
    }
    hc_leave();
    return error;
}
