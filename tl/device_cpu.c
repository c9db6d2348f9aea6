/* device_cpu.c: the cpu as a device: host memory, and the plain path of every operation. */
#include "device_cpu.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Columns that stay in the second-level caches while the product reads them: larger chunks, up to
 * the 256 MiB that a GPU gets, only cost memory here. */
enum { CPU_COLUMN_BYTES = 4 << 20 };

/* Memory that is cleared by more than one thread: below this, starting them costs more. */
enum { PARALLEL_BYTES = 1 << 18 };

static void *host_get(void *user, size_t bytes) {
    (void)user;
    /* aligned_alloc wants a multiple of the alignment, and a size of 0 may give NULL */
    if (bytes > SIZE_MAX - 256) return NULL;
    size_t rounded = bytes == 0 ? 256 : (bytes + 255) / 256 * 256;
    return aligned_alloc(256, rounded);
}

static void host_put(void *user, void *block, size_t bytes) {
    (void)user;
    (void)bytes;
    free(block);
}

const tl_alloc_source cpu_memory = {host_get, host_put, NULL};

static tl_status cpu_copy(tl_ctx *ctx, void *to, const void *from, size_t bytes) {
    (void)ctx;
    memcpy(to, from, bytes);
    return TL_OK;
}

static tl_status cpu_zero(tl_ctx *ctx, void *block, size_t bytes) {
    const size_t piece = 1 << 16;
    const size_t pieces = (bytes + piece - 1) / piece;
#pragma omp parallel for num_threads(ctx->threads) if (bytes >= PARALLEL_BYTES)
    for (size_t i = 0; i < pieces; i++) {
        size_t begin = i * piece, length = bytes - begin < piece ? bytes - begin : piece;
        memset((char *)block + begin, 0, length);
    }
    return TL_OK;
}

static tl_status cpu_sync(tl_ctx *ctx) {
    (void)ctx; /* every operation has finished when it returns */
    return TL_OK;
}

static tl_status cpu_step_set(tl_ctx *ctx, const tl_step *now) {
    *ctx->step = *now;
    return TL_OK;
}

const tl_backend cpu_plain = {
    .name = "cpu",
    .column_bytes = CPU_COLUMN_BYTES,
    .copy_in = cpu_copy,
    .copy_out = cpu_copy,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .sync = cpu_sync,
    .step_set = cpu_step_set,
#define OP(op, ...) .op = tl_##op,
#include "tl/ops.def"
};
