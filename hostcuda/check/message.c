/* message.c: where in the source an access stands, and in which array or buffer. */
#define _GNU_SOURCE
#include "check.h"

#include <execinfo.h>

enum { FRAMES = 20 };

/* The access's line is that of the innermost frame in a student's file: an atomic of ours that was
 * not inlined is reported where it is called. */
void hc_check_message_begin(hc_text *t, const char *kind, uintptr_t pc) {
    void *frames[FRAMES], *pcs[FRAMES + 1];
    int count = backtrace(frames, FRAMES), n = 0, from = 0;
    pcs[n++] = (void *)(pc - 1);
    for (int i = 0; i < count; i++)
        if ((uintptr_t)frames[i] == pc) from = i + 1;
    for (int i = from; i < count; i++) pcs[n++] = frames[i];
    hc_source source = {.file = "?"};
    hc_source_of(pcs, n, &source);
    hc_report_begin(t, kind, source.file, source.line);
}

void hc_check_message_where(hc_text *t, const hc_access *a) {
    if (a->region == &hc_check.region[REGION_SHARED]) {
        hc_shared_array array;
        size_t at = a->address - a->region->base;
        if (hc_shared_array_at(at, &array))
            hc_add(t, "\n    array    byte %zu of __shared__ %s (%zu bytes)", at - array.start,
                   array.name, array.end - array.start);
    } else if (a->region == &hc_check.region[REGION_SYMBOL]) {
        hc_add(t, "\n    variable a __device__ variable");
    } else {
        const hc_buffer *b = hc_arena_find((const void *)a->address);
        if (!b) return;
        size_t at = (size_t)((const char *)a->address - b->start);
        hc_add(t, "\n    buffer   byte %zu of %zu, allocated at %s:%d", at, b->bytes,
               hc_report_shorten(b->allocated.file), b->allocated.line);
        hc_add_buffer_element(t, b, (long)at);
    }
}
