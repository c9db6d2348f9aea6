/* arrays.c: memory of the device for what is shown, and random numbers (show.h). */
#include "show.h"

#include <string.h>

#include "tl/backend.h"
#include "tl/device.h"
#include "tl/rng.h"

tl_status show_bytes(show *s, void **block, size_t bytes, const void *host) {
    TL_NEED(s->blocks < SHOW_BLOCKS, TL_ENOMEM, "more than %d arrays", (int)SHOW_BLOCKS);
    TL_TRY(tl_device_get(s->ctx, block, bytes));
    s->block[s->blocks++] = *block;
    return host ? tl_device_copy_in(s->ctx, *block, host, bytes)
                : tl_device_zero(s->ctx, *block, bytes);
}

tl_status show_array(show *s, tl_real **array, size_t n, const tl_real *host) {
    void *block = NULL;
    tl_status status = show_bytes(s, &block, n * sizeof **array, host);
    *array = block;
    return status;
}

tl_status show_put(const show *s, tl_real *array, const tl_real *host, size_t n) {
    return tl_device_copy_in(s->ctx, array, host, n * sizeof *host);
}

tl_status show_get(const show *s, tl_real *host, const tl_real *array, size_t n) {
    return tl_device_copy_out(s->ctx, host, array, n * sizeof *host);
}

void show_release(show *s) {
    while (s->blocks > 0) tl_device_put(s->ctx, s->block[--s->blocks]);
}

bool show_emulated(const show *s) { return strcmp(s->ctx->ops->name, "hostcuda") == 0; }

double show_draw(const show *s, uint32_t stream, uint64_t i) {
    return tl_philox_draw(s->seed, i, stream, TL_DRAW_DATA).v[0] / 2147483648.0 - 1;
}
