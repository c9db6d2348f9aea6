/* memory.c: cudaMalloc and its kin: allocation, freeing, what memory there is. */
#include "internal.h"

#include <stdlib.h>

static cudaError_t allocate(hc_space space, void **p, size_t bytes, const char *file, int line) {
    if (!p) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_check_host_call(p, sizeof *p, true, (hc_site){file, line});
    cudaError_t error = hc_sticky();
    if (!error && bytes == 0)
        *p = NULL;
    else if (!error)
        error = hc_arena_allocate(space, bytes, (hc_site){file, line}, p);
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_MallocBytes(void **p, size_t bytes, const char *file, int line) {
    return allocate(HC_DEVICE, p, bytes, file, line);
}

void hc_name_buffer(const void *p, size_t element, const char *arguments) {
    hc_enter();
    hc_buffer *b = p ? hc_arena_find(p) : NULL;
    if (b) b->element = element, b->named = arguments;
    hc_leave();
}

cudaError_t hc_MallocManagedBytes(void **p, size_t bytes, const char *file, int line) {
    return allocate(HC_MANAGED, p, bytes, file, line);
}

cudaError_t hc_MallocHostBytes(void **p, size_t bytes, const char *file, int line) {
    return allocate(HC_PINNED, p, bytes, file, line);
}

cudaError_t hc_MallocPitchBytes(void **p, size_t *pitch, size_t width, size_t height,
                                const char *file, int line) {
    if (!pitch) return hc_fail(cudaErrorInvalidValue);
    hc_check_host_call(pitch, sizeof *pitch, true, (hc_site){file, line});
    *pitch = (width + 511) / 512 * 512;
    return allocate(HC_DEVICE, p, *pitch * height, file, line);
}

static cudaError_t bad_free(const char *kind, const void *p, const char *what, const char *likely,
                            hc_site at) {
    hc_complain(kind, at.file, at.line, likely, "%p: %s", p, what);
    return cudaErrorInvalidValue;
}

static cudaError_t release(void *p, bool pinned, hc_site at) {
    hc_buffer *b = NULL;
    hc_space space = hc_space_of(p, &b);
    if (space == HC_HOST || space == HC_SYMBOL)
        return bad_free("bad-free", p, "not memory that was allocated with CUDA",
                        "free memory of malloc with free; check the pointer's name", at);
    if (!b) return bad_free("bad-free", p, "no buffer is here", "the pointer was changed", at);
    if (b->freed) {
        hc_text t;
        hc_report_begin(&t, "double-free", at.file, at.line);
        hc_add(&t, "this buffer of %zu bytes was already freed at %s:%d (allocated at %s:%d)",
               b->bytes, b->released.file, b->released.line, b->allocated.file, b->allocated.line);
        hc_report_likely(&t,
                         "two owners free it: free it in one place and set the pointer to NULL");
        hc_report_end(&t);
        return cudaErrorInvalidValue;
    }
    if (p != b->start)
        return bad_free("bad-free", p, "not the start of its buffer",
                        "free the pointer that cudaMalloc gave, not one that was moved on", at);
    if (b->heap) return bad_free("bad-free", p, "a kernel's own memory", "free it in a kernel", at);
    if (pinned != (b->space == HC_PINNED))
        return bad_free("bad-free", p, pinned ? "device memory" : "page-locked host memory",
                        pinned ? "use cudaFree" : "use cudaFreeHost", at);
    hc_check_canaries(b, "when it was freed");
    hc_arena_release(b, at);
    return cudaSuccess;
}

static cudaError_t free_now(void *p, bool pinned, hc_site at) {
    if (!p) return cudaSuccess;
    hc_enter();
    cudaError_t error = hc_drain_all(); /* cudaFree waits for the device */
    cudaError_t freed = release(p, pinned, at);
    if (!error) error = freed;
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_Free(void *p, const char *file, int line) {
    return free_now(p, false, (hc_site){file, line});
}

cudaError_t hc_FreeHost(void *p, const char *file, int line) {
    return free_now(p, true, (hc_site){file, line});
}

static cudaError_t run_free(hc_op *op) { return release(op->u.set.p, false, op->site); }

cudaError_t hc_FreeAsync(void *p, cudaStream_t stream, const char *file, int line) {
    if (!p) return cudaSuccess;
    hc_enter();
    hc_op *op = hc_op_new("cudaFreeAsync", run_free, file, line);
    op->u.set.p = p;
    cudaError_t error = hc_queue(stream, op);
    hc_leave();
    return error;
}

/* Registered memory is the caller's: only copies from it may be late (stream.c), as with any. */
cudaError_t hc_HostRegister(void *p, size_t bytes, unsigned flags, const char *file, int line) {
    (void)flags, (void)file, (void)line;
    return p && bytes ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
}

cudaError_t hc_HostUnregister(void *p, const char *file, int line) {
    (void)file, (void)line;
    return p ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
}

/* cudaMemAdvise and cudaMemPrefetchAsync: only managed memory can be advised on. */
cudaError_t hc_MemAdvised(const void *p, size_t bytes, const char *file, int line) {
    hc_enter();
    hc_buffer *b;
    bool managed = hc_space_of(p, &b) == HC_MANAGED && b && !b->freed &&
                   (const char *)p + bytes <= b->start + b->bytes;
    cudaError_t error = managed ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
    if (!managed)
        hc_complain("copy-direction", file, line,
                    "only memory of cudaMallocManaged moves by itself",
                    "%zu bytes at %p are not managed memory", bytes, p);
    hc_leave();
    return error;
}

cudaError_t hc_MemGetInfo(size_t *free_bytes, size_t *total, const char *file, int line) {
    (void)file, (void)line;
    hc_enter();
    size_t count;
    *total = hc_options_get()->memory;
    *free_bytes = *total - hc_arena_live(&count);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_PointerGetAttributes(cudaPointerAttributes *attributes, const void *p,
                                    const char *file, int line) {
    (void)file, (void)line;
    static const enum cudaMemoryType types[] = {
        cudaMemoryTypeUnregistered, cudaMemoryTypeDevice, cudaMemoryTypeManaged,
        cudaMemoryTypeHost,         cudaMemoryTypeDevice, cudaMemoryTypeUnregistered};
    hc_enter();
    hc_space space = hc_space_of(p, NULL);
    hc_leave();
    bool device = space == HC_DEVICE || space == HC_MANAGED || space == HC_PINNED;
    bool host = space == HC_PINNED || space == HC_MANAGED;
    attributes->type = types[space];
    attributes->device = 0;
    attributes->devicePointer = device ? (void *)p : NULL;
    attributes->hostPointer = host ? (void *)p : NULL;
    return cudaSuccess;
}
