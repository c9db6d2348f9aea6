/* cuda_device.cu: a GPU as a device, and the entry of its plug-in (tl/plugin.h). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tl/rungs_apply.h"
#include "plugin_status.h"
#include "tl/cublas.h"

/* The name in tl_backend and in messages; another plug-in is built of the same source. */
#ifndef TL_CUDA_DEVICE
#define TL_CUDA_DEVICE "cuda"
#endif

enum {
    COLUMN_BYTES = 256 << 20, /* scratch for im2col columns: net c's largest layer in 5 chunks */
    OLDEST_GPU = 75,          /* compute capability 7.5: the oldest that CUDA 13 builds for */
};

/* ---- memory, copies and the numbers of a step ---- */

/* Memory that ran out is an answer, not a failure to report later: the error is taken back. */
static void *raw_get(void *, size_t bytes) {
    void *block = NULL;
    if (cudaMalloc(&block, bytes) == cudaSuccess) return block;
    cudaGetLastError();
    return NULL;
}

/* Waits until the device has done what still uses the block. */
static void raw_put(void *, void *block, size_t) { cudaFree(block); }

static tl_status copy_and_wait(tl_ctx *ctx, void *to, const void *from, size_t bytes,
                               cudaMemcpyKind kind) {
    TL_CUDA(cudaMemcpyAsync(to, from, bytes, kind, tl_stream(ctx)));
    TL_CUDA(cudaStreamSynchronize(tl_stream(ctx)));
    return TL_OK;
}

static tl_status copy_in(tl_ctx *ctx, void *device, const void *host, size_t bytes) {
    return copy_and_wait(ctx, device, host, bytes, cudaMemcpyHostToDevice);
}

static tl_status copy_out(tl_ctx *ctx, void *host, const void *device, size_t bytes) {
    return copy_and_wait(ctx, host, device, bytes, cudaMemcpyDeviceToHost);
}

/* Only queued: the host sees nothing of it, and what comes later in the stream finds it done. */
static tl_status copy(tl_ctx *ctx, void *to, const void *from, size_t bytes) {
    TL_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, tl_stream(ctx)));
    return TL_OK;
}

static tl_status zero(tl_ctx *ctx, void *device, size_t bytes) {
    TL_CUDA(cudaMemsetAsync(device, 0, bytes, tl_stream(ctx)));
    return TL_OK;
}

static tl_status sync(tl_ctx *ctx) {
    TL_CUDA(cudaStreamSynchronize(tl_stream(ctx)));
    return TL_OK;
}

static __global__ void write_step(tl_step *step, tl_step now) { *step = now; }

/* A launch copies its arguments: *now is taken at once, written when its turn comes in the stream,
 * and the host waits for neither. */
static tl_status step_set(tl_ctx *ctx, const tl_step *now) {
    write_step<<<1, 1, 0, tl_stream(ctx)>>>(ctx->step, *now);
    TL_LAUNCHED();
    return TL_OK;
}

/* ---- rounding (tl/precision.h) ---- */

static __global__ void round_all(tl_real *y, const tl_real *x, size_t n, tl_precision precision) {
    for (size_t i = tl_thread(); i < n; i += tl_threads())
        y[i] = (tl_real)tl_rounded((float)x[i], precision);
}

static tl_status round_to(tl_ctx *ctx, tl_real *y, const tl_real *x, size_t n,
                          tl_precision precision) {
    if (n == 0) return TL_OK;
    round_all<<<tl_blocks(n, TL_BLOCK), TL_BLOCK, 0, tl_stream(ctx)>>>(y, x, n, precision);
    TL_LAUNCHED();
    return TL_OK;
}

/* ---- captured work ---- */

/* Relaxed: an allocation while work is recorded is not part of it, and allowed. */
static tl_status graph_begin(tl_ctx *ctx) {
    TL_CUDA(cudaStreamBeginCapture(tl_stream(ctx), cudaStreamCaptureModeRelaxed));
    return TL_OK;
}

static tl_status graph_end(tl_ctx *ctx, void **graph) {
    cudaGraph_t recorded = NULL;
    cudaError_t error = cudaStreamEndCapture(tl_stream(ctx), &recorded);
    if (!graph) { /* dropped: the reason was reported, and must not be covered by another */
        if (recorded) cudaGraphDestroy(recorded);
        cudaGetLastError();
        return TL_OK;
    }
    TL_CUDA(error);
    cudaGraphExec_t ready = NULL;
    error = cudaGraphInstantiate(&ready, recorded, 0);
    cudaGraphDestroy(recorded);
    TL_CUDA(error);
    *graph = ready;
    return TL_OK;
}

static tl_status graph_launch(tl_ctx *ctx, void *graph) {
    TL_CUDA(cudaGraphLaunch((cudaGraphExec_t)graph, tl_stream(ctx)));
    return TL_OK;
}

static void graph_free(tl_ctx *ctx, void *graph) {
    if (!graph) return;
    cudaStreamSynchronize(tl_stream(ctx));
    cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

/* ---- its clock ---- */

static tl_status mark(tl_ctx *ctx, void **moment) {
    if (!*moment) TL_CUDA(cudaEventCreate((cudaEvent_t *)moment));
    TL_CUDA(cudaEventRecord((cudaEvent_t)*moment, tl_stream(ctx)));
    return TL_OK;
}

static tl_status between(tl_ctx *, void *from, void *to, double *seconds) {
    float milliseconds;
    TL_CUDA(cudaEventSynchronize((cudaEvent_t)to));
    TL_CUDA(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)from, (cudaEvent_t)to));
    *seconds = 1e-3 * milliseconds;
    return TL_OK;
}

static void mark_free(tl_ctx *, void *moment) {
    if (moment) cudaEventDestroy((cudaEvent_t)moment);
}

static void CUDART_CB wait_for(void *microseconds) { usleep((unsigned)(size_t)microseconds); }

/* Work of the host that the stream waits for, and the program does not. */
static tl_status hold(tl_ctx *ctx, int microseconds) {
    TL_CUDA(cudaLaunchHostFunc(tl_stream(ctx), wait_for, (void *)(size_t)microseconds));
    return TL_OK;
}

/* ---- is there a GPU that can be used? ---- */

/* Why cudaGetDeviceCount failed, and how to fix it. */
static tl_status no_device(cudaError_t error) {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver); /* 0 without a driver */
    cudaRuntimeGetVersion(&runtime);
    if (error == cudaErrorInsufficientDriver && driver == 0)
        return TL_FAIL(TL_EDEVICE,
                       "DEVICE=" TL_CUDA_DEVICE
                       ": this machine has no NVIDIA driver; use DEVICE=cpu,"
                       " or install the driver of your GPU (CUDA %d.%d or later)",
                       runtime / 1000, runtime % 1000 / 10);
    if (error == cudaErrorInsufficientDriver)
        return TL_FAIL(TL_EDEVICE,
                       "DEVICE=" TL_CUDA_DEVICE
                       ": the NVIDIA driver is for CUDA %d.%d, this program "
                       "for CUDA %d.%d; install a newer driver, or build with the older toolkit",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (error == cudaErrorNoDevice || error == cudaSuccess)
        return TL_FAIL(TL_EDEVICE, "DEVICE=" TL_CUDA_DEVICE
                                   ": the NVIDIA driver sees no GPU; use DEVICE=cpu, or "
                                   "look at nvidia-smi and CUDA_VISIBLE_DEVICES");
    return tl_cuda_failed(error, __FILE__, __LINE__, "cudaGetDeviceCount");
}

static tl_status available(void) {
    int count = 0; /* stays as it is where there is no driver */
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        cudaGetLastError();
        return no_device(error);
    }
    cudaDeviceProp gpu;
    TL_CUDA(cudaGetDeviceProperties(&gpu, 0));
    TL_NEED(10 * gpu.major + gpu.minor >= OLDEST_GPU, TL_EDEVICE,
            "DEVICE=" TL_CUDA_DEVICE
            ": %s has compute capability %d.%d, CUDA 13 needs 7.5 or later; "
            "use DEVICE=cpu",
            gpu.name, gpu.major, gpu.minor);
    /* Loads a kernel: fails if this file was built for other GPUs than this one. */
    cudaFuncAttributes attributes;
    TL_CUDA(cudaFuncGetAttributes(&attributes, (const void *)write_step));
    return TL_OK;
}

/* What results name: figures of one GPU say little about another. */
static void describe(char *text, size_t size) {
    cudaDeviceProp gpu;
    int index = 0;
    if (size == 0) return;
    text[0] = '\0';
    if (cudaGetDevice(&index) == cudaSuccess && cudaGetDeviceProperties(&gpu, index) == cudaSuccess)
        snprintf(text, size, "%s", gpu.name);
    else
        cudaGetLastError();
}

/* ---- open and close ---- */

/* Setting the stream takes the workspace away from a handle, so the workspace comes second. Fixed
 * scratch of our own also keeps the bits: with its own, cuBLAS may choose otherwise in a graph. Who
 * wants cuBLAS with all that it can use, as the bench does, says so in cuBLAS's own variable. */
static tl_status open_blas(tl_ctx *ctx, void *workspace) {
    TL_CUBLAS(cublasCreate((cublasHandle_t *)&ctx->blas));
    cublasHandle_t blas = (cublasHandle_t)ctx->blas;
    TL_CUBLAS(cublasSetStream(blas, tl_stream(ctx)));
    if (!getenv("CUBLAS_WORKSPACE_CONFIG"))
        TL_CUBLAS(cublasSetWorkspace(blas, workspace, TL_WORKSPACE_BYTES));
    TL_CUBLAS(cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH)); /* no TF32 */
    TL_CUBLAS(cublasSetAtomicsMode(blas, CUBLAS_ATOMICS_NOT_ALLOWED));
    return TL_OK;
}

static tl_status open_parts(tl_ctx *ctx, const tl_alloc_source *memory,
                            const tl_device_options *options) {
    int count = 0;
    TL_CUDA(cudaGetDeviceCount(&count));
    TL_NEED(options->index < count, TL_EINVAL,
            "DEVICE=" TL_CUDA_DEVICE ": there is no GPU %d, only %d (CUDA_VISIBLE_DEVICES)",
            options->index, count);
    TL_CUDA(cudaSetDevice(options->index));
    if (options->borrow_stream)
        ctx->stream = options->stream;
    else
        TL_CUDA(cudaStreamCreateWithFlags((cudaStream_t *)&ctx->stream, cudaStreamNonBlocking));
    /* One block for all that the context itself needs: first the step, then the workspace
     * (tl_workspace); these products are small and want no larger one. */
    ctx->step = (tl_step *)memory->raw_get(memory->user, TL_STEP_BYTES + TL_WORKSPACE_BYTES);
    TL_NEED(ctx->step, TL_ENOMEM, "DEVICE=" TL_CUDA_DEVICE ": no memory for a context (%d bytes)",
            TL_STEP_BYTES + TL_WORKSPACE_BYTES);
    TL_TRY(open_blas(ctx, tl_workspace(ctx)));
    tl_step first = {};
    return step_set(ctx, &first);
}

static void close_device(tl_ctx *ctx, const tl_alloc_source *memory,
                         const tl_device_options *options) {
    if (ctx->stream || options->borrow_stream) cudaStreamSynchronize(tl_stream(ctx));
    if (ctx->blas) cublasDestroy((cublasHandle_t)ctx->blas);
    if (ctx->stream && !options->borrow_stream) cudaStreamDestroy(tl_stream(ctx));
    if (ctx->step) memory->raw_put(memory->user, ctx->step, TL_STEP_BYTES + TL_WORKSPACE_BYTES);
    ctx->stream = NULL;
    ctx->blas = NULL;
    ctx->step = NULL;
}

/* hostcuda's; in a plug-in for GPUs there is none, and its address is null. */
extern "C" __attribute__((weak)) const hostcuda_counts *hostcuda_counts_get(void);

/* 90 for 9.0; 0 for hostcuda, which runs the kernels of every GPU. */
static tl_status capability_of(int *capability, int index) {
    int major, minor;
    TL_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
    TL_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index));
    *capability = hostcuda_counts_get ? 0 : 10 * major + minor;
    return TL_OK;
}

static size_t cache_bytes(void) {
    int device = 0, bytes = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device);
    return (size_t)bytes;
}

static tl_status open_device(tl_ctx *ctx, tl_backend *ops, tl_alloc_source *memory,
                             const tl_device_options *options) {
    static_assert(sizeof(tl_step) <= TL_STEP_BYTES, "the workspace starts behind the step");
    if (!memory->raw_get) *memory = tl_alloc_source{raw_get, raw_put, NULL};
    tl_status status = open_parts(ctx, memory, options);
    if (status != TL_OK) {
        close_device(ctx, memory, options);
        return status;
    }
    *ops = tl_backend{};
    TL_TRY(capability_of(&ops->capability, options->index));
    ops->name = TL_CUDA_DEVICE;
    ops->column_bytes = COLUMN_BYTES;
    ops->cache_bytes = cache_bytes();
    ops->copy_in = copy_in;
    ops->copy_out = copy_out;
    ops->copy = copy;
    ops->zero = zero;
    ops->sync = sync;
    ops->step_set = step_set;
    ops->round_to = round_to;
    ops->graph_begin = graph_begin;
    ops->graph_end = graph_end;
    ops->graph_launch = graph_launch;
    ops->graph_free = graph_free;
    ops->mark = mark;
    ops->between = between;
    ops->mark_free = mark_free;
    ops->hold = hold;
#define PLAIN(op, ...) ops->op = tl_##op;
#define OP             PLAIN
#define OP_CUDA        PLAIN
#include "tl/ops.def"
#undef PLAIN
    return TL_OK;
}

static const tl_plugin plugin = {available,   describe,     open_device,
                                 rungs_apply, close_device, hostcuda_counts_get};

/* The one symbol of this shared object that others see. */
extern "C" __attribute__((visibility("default"))) const tl_plugin *
tl_plugin_open(unsigned abi, size_t real_size, const tl_host_services *host) {
    plugin_status_host(host);
    if (abi == TL_PLUGIN_ABI && real_size == sizeof(tl_real)) return &plugin;
    TL_FAIL(TL_EDEVICE,
            "libtl_" TL_CUDA_DEVICE ".so was built from other sources (interface %d, %zu bytes per "
            "number; the program has %u and %zu): run make again",
            (int)TL_PLUGIN_ABI, sizeof(tl_real), abi, real_size);
    return NULL;
}
