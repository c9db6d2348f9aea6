/* copy.c: copies and memset: what they demand of their pointers, and their run in stream order.
 *
 * A copy from ordinary host memory takes its bytes when it is called, as a GPU's driver does; one
 * to or from page-locked memory happens when the stream gets there, and so does every copy to the
 * host: host code that does not wait sees the old bytes. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const directions[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                         "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice",
                                         "cudaMemcpyDefault"};

static void add_buffer(hc_text *t, const hc_buffer *b) {
    hc_add(t, "; its buffer has %zu bytes and was allocated at %s:%d", b->bytes, b->allocated.file,
           b->allocated.line);
    if (b->freed) hc_add(t, ", freed at %s:%d", b->released.file, b->released.line);
}

static cudaError_t complain(const char *kind, hc_site at, const hc_buffer *b, const char *likely,
                            const char *what, const char *side, size_t bytes) {
    hc_text t;
    hc_report_begin(&t, kind, at.file, at.line);
    hc_add(&t, "%s (%zu bytes): %s", side, bytes, what);
    if (b) add_buffer(&t, b);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    return cudaErrorInvalidValue;
}

/* One side of a copy: is p where the direction says, and are `bytes` there? */
static cudaError_t check_side(const void *p, size_t bytes, bool device, const char *side,
                              hc_site at) {
    hc_buffer *b;
    hc_space space = hc_space_of(p, &b);
    bool is_device = space != HC_HOST, both = space == HC_MANAGED || space == HC_PINNED;
    if (!p) return complain("null-pointer", at, NULL, "was it allocated?", "NULL", side, bytes);
    if (!both && device && !is_device)
        return complain(
            "copy-direction", at, NULL,
            "the direction names the wrong side, or the arguments are in the wrong order: "
            "cudaMemcpy(to, from, bytes, kind)",
            "host memory where the direction says device memory", side, bytes);
    if (!both && !device && is_device)
        return complain(
            "copy-direction", at, b,
            "the direction names the wrong side, or the arguments are in the wrong order: "
            "cudaMemcpy(to, from, bytes, kind)",
            "device memory where the direction says host memory", side, bytes);
    if (space == HC_GUARD)
        return complain("copy-size", at, NULL, "the pointer was moved out of its buffer",
                        "no buffer is here", side, bytes);
    if (space == HC_SYMBOL && bytes > hc_symbol_room(p))
        return complain("copy-size", at, NULL, "the size is in bytes and must fit the symbol",
                        "reaches past the device's variables", side, bytes);
    if (b && b->freed)
        return complain("use-after-free", at, b, "free it after its last use", "freed memory", side,
                        bytes);
    size_t at_least = b ? (size_t)((const char *)p - b->start) : 0; /* (huge where it is before) */
    if (b && (at_least > b->bytes || bytes > b->bytes - at_least))
        return complain(
            "copy-size", at, b,
            "the size is in bytes: n * sizeof(element), and of the type that was allocated",
            "reaches past the buffer", side, bytes);
    return cudaSuccess;
}

cudaError_t hc_check_device(const void *p, size_t bytes, const char *what, const char *file,
                            int line) {
    hc_site at = {file, line};
    if (p && bytes && hc_space_of(p, NULL) == HC_HOST)
        return complain("host-pointer", at, NULL, "pass the pointer that cudaMalloc gave",
                        "host memory where device memory is needed", what, bytes);
    return bytes ? check_side(p, bytes, true, what, at) : cudaSuccess;
}

static cudaError_t check(const void *to, const void *from, size_t to_bytes, size_t from_bytes,
                         enum cudaMemcpyKind kind, hc_site at) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) {
        to_device = hc_space_of(to, NULL) != HC_HOST;
        from_device = hc_space_of(from, NULL) != HC_HOST;
    }
    char side[80];
    strcpy(side, "destination of a copy ");
    strcat(side, directions[kind]);
    cudaError_t error = check_side(to, to_bytes, to_device, side, at);
    if (error) return error;
    strcpy(side, "source of a copy ");
    strcat(side, directions[kind]);
    return check_side(from, from_bytes, from_device, side, at);
}

static cudaError_t run_copy(hc_op *op) {
    const char *from = op->u.copy.staged ? op->u.copy.staged : op->u.copy.from;
    char *to = op->u.copy.to;
    size_t width = op->u.copy.width;
    if (op->u.copy.to_local && !hc_check_guarded_still(op->u.copy.to)) {
        hc_complain("host-access", op->site.file, op->site.line, "wait for it before you return",
                    "this copy comes after the function whose variable it fills has returned");
        return cudaErrorInvalidValue;
    }
    bool whole =
        op->u.copy.height == 1 || (op->u.copy.to_pitch == width && op->u.copy.from_pitch == width);
    if (hc_check_brings_nothing(to, op->u.copy.from, op->u.copy.from_pitch, width,
                                op->u.copy.height))
        hc_complain("uninitialised", op->site.file, op->site.line,
                    "the kernel that was to write them did not run, or wrote to another buffer",
                    "copies %zu bytes to the host, and nothing has written any of them",
                    width * op->u.copy.height);
    hc_arena_open();
    size_t rows = whole ? 1 : op->u.copy.height, bytes = whole ? width * op->u.copy.height : width;
    for (size_t y = 0; y < rows; y++) {
        memmove(to + y * op->u.copy.to_pitch, from + y * op->u.copy.from_pitch, bytes);
        hc_check_copied(to + y * op->u.copy.to_pitch, op->u.copy.from + y * op->u.copy.from_pitch,
                        bytes);
    }
    hc_arena_close();
    return cudaSuccess;
}

static void drop_copy(hc_op *op) { free(op->u.copy.staged); }

/* Ordinary host memory may change or go once an asynchronous copy from it was called. */
static void stage(hc_op *op, size_t bytes) {
    op->u.copy.staged = malloc(bytes ? bytes : 1);
    if (!op->u.copy.staged) abort();
    memcpy(op->u.copy.staged, op->u.copy.from, bytes);
    op->drop = drop_copy;
}

static cudaError_t copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
                        bool wait, hc_site at) {
    if (width == 0 || height == 0) return cudaSuccess;
    if (height > 1 && (to_pitch < width || from_pitch < width))
        return hc_fail(cudaErrorInvalidPitchValue);
    hc_enter();
    cudaError_t error = hc_sticky();
    size_t to_bytes = to_pitch * (height - 1) + width,
           from_bytes = from_pitch * (height - 1) + width;
    if (!error) error = check(to, from, to_bytes, from_bytes, kind, at);
    if (!error) {
        if (hc_space_of(to, NULL) == HC_HOST) hc_check_host_call(to, to_bytes, true, at);
        if (hc_space_of(from, NULL) == HC_HOST) hc_check_host_call(from, from_bytes, false, at);
        hc_op *op = hc_op_new("cudaMemcpy", run_copy, at.file, at.line);
        op->u.copy.to = to, op->u.copy.from = from;
        op->u.copy.to_pitch = to_pitch, op->u.copy.from_pitch = from_pitch;
        op->u.copy.width = width, op->u.copy.height = height;
        op->u.copy.to_local = hc_check_guarded_stack(to);
        bool host = hc_space_of(from, NULL) == HC_HOST;
        bool recorded = hc_node_is_made() || hc_stream_capture(stream);
        if (!wait && host && !recorded) stage(op, from_bytes);
        error = hc_queue(stream, op);
        /* Within the device a copy does not make the host wait, as on a GPU. */
        bool to_or_from_host = host || hc_space_of(to, NULL) == HC_HOST || kind < 3;
        if (!error && wait && to_or_from_host) error = hc_finish(stream);
    }
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_Memcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                      const char *file, int line) {
    return copy(to, bytes, from, bytes, bytes, 1, kind, NULL, true, (hc_site){file, line});
}

cudaError_t hc_MemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t stream, const char *file, int line) {
    return copy(to, bytes, from, bytes, bytes, 1, kind, stream, false, (hc_site){file, line});
}

cudaError_t hc_Memcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, enum cudaMemcpyKind kind, const char *file,
                        int line) {
    return copy(to, to_pitch, from, from_pitch, width, height, kind, NULL, true,
                (hc_site){file, line});
}

cudaError_t hc_Memcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind,
                             cudaStream_t stream, const char *file, int line) {
    return copy(to, to_pitch, from, from_pitch, width, height, kind, stream, false,
                (hc_site){file, line});
}

cudaError_t hc_symbol_copy(void *symbol, void *host, size_t bytes, size_t offset,
                           size_t symbol_bytes, bool to_symbol, bool wait, cudaStream_t stream,
                           const char *file, int line) {
    hc_site at = {file, line};
    if (offset > symbol_bytes || bytes > symbol_bytes - offset) {
        hc_complain("copy-size", file, line, "the size is in bytes and must fit the symbol",
                    "%zu bytes at offset %zu of a symbol of %zu bytes", bytes, offset,
                    symbol_bytes);
        return hc_fail(cudaErrorInvalidValue);
    }
    if (hc_space_of(symbol, NULL) != HC_SYMBOL) {
        hc_complain("copy-direction", file, line,
                    "name the __device__ or __constant__ variable itself; a pointer of cudaMalloc "
                    "goes to cudaMemcpy",
                    "this is not a __device__ or __constant__ variable");
        return hc_fail(cudaErrorInvalidSymbol);
    }
    char *place = (char *)symbol + offset;
    return copy(to_symbol ? place : host, bytes, to_symbol ? host : place, bytes, bytes, 1,
                cudaMemcpyDefault, stream, wait, at);
}

static cudaError_t run_set(hc_op *op) {
    hc_arena_open();
    size_t element = op->u.set.element;
    if (element == 1) memset(op->u.set.p, op->u.set.value, op->u.set.bytes);
    for (size_t i = 0; element > 1 && i < op->u.set.bytes; i += element)
        memcpy(op->u.set.p + i, &op->u.set.value, element); /* (the low bytes come first) */
    hc_check_set(op->u.set.p, op->u.set.bytes);
    hc_arena_close();
    return cudaSuccess;
}

cudaError_t hc_set(void *p, int value, size_t element, size_t bytes, cudaStream_t stream,
                   hc_site at) {
    if (bytes == 0) return cudaSuccess;
    hc_enter();
    cudaError_t error = hc_sticky();
    if (!error) error = check_side(p, bytes, true, "cudaMemset", at);
    if (!error) {
        hc_op *op = hc_op_new("cudaMemset", run_set, at.file, at.line);
        op->u.set.p = p, op->u.set.value = value;
        op->u.set.bytes = bytes, op->u.set.element = element;
        error = hc_queue(stream, op);
    }
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_MemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream, const char *file,
                           int line) {
    return hc_set(p, value, 1, bytes, stream, (hc_site){file, line});
}

/* Row by row, each checked like a memset of its own. */
cudaError_t hc_Memset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                             cudaStream_t stream, const char *file, int line) {
    if (height > 1 && pitch < width) return hc_fail(cudaErrorInvalidPitchValue);
    cudaError_t error = cudaSuccess;
    for (size_t y = 0; y < height && !error; y++)
        error = hc_MemsetAsync((char *)p + y * pitch, value, width, stream, file, line);
    return error;
}

cudaError_t hc_Memset2D(void *p, size_t pitch, int value, size_t width, size_t height,
                        const char *file, int line) {
    return hc_Memset2DAsync(p, pitch, value, width, height, NULL, file, line);
}

cudaError_t hc_Memset(void *p, int value, size_t bytes, const char *file, int line) {
    return hc_MemsetAsync(p, value, bytes, NULL, file, line);
}
