/* leaks_memory.c: takes device memory and never gives it back. */
#include "hostile.h"

#include "tl/alloc.h"

void hostile_leaks_memory(const hostile_call *call) {
    void *block;
    tl_status status = tl_alloc_get(call->ctx->alloc, &block, 1000);
    if (status != TL_OK) call->out[0] = 0;
}
