/* canary.c: the bytes around a buffer that no guard page covers, and buffers that were never freed.
 */
#include "internal.h"

#include <string.h>

enum { CANARY = 0xc5, EDGE = 64 };

void hc_fill_edges(const hc_buffer *b) {
    char *end = b->pages + b->page_bytes;
    size_t before = (size_t)(b->start - b->pages);
    memset(b->start - (before < EDGE ? before : EDGE), CANARY, before < EDGE ? before : EDGE);
    memset(b->start + b->bytes, CANARY, (size_t)(end - b->start) - b->bytes);
}

static const char *first_damage(const char *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)p[i] != CANARY) return p + i;
    return NULL;
}

/* (what lies around a confined array are no canaries: check/confine.c looks after it) */
void hc_check_canaries(hc_buffer *b, const char *when) {
    if (b->freed || b->space == HC_PINNED || b->whole) return;
    hc_arena_open_one(b);
    size_t before = (size_t)(b->start - b->pages), edge = before < EDGE ? before : EDGE;
    char *end = b->start + b->bytes;
    const char *low = first_damage(b->start - edge, edge);
    const char *high = first_damage(end, (size_t)(b->pages + b->page_bytes - end));
    if (low || high) {
        long distance = low ? (long)(low - b->start) : (long)(high - end);
        hc_complain("out-of-bounds", b->allocated.file, b->allocated.line,
                    "an index that is off by one, or a size in elements where bytes are wanted",
                    "the buffer of %zu bytes allocated here was overwritten %ld bytes %s (seen %s)",
                    b->bytes, low ? -distance : distance, low ? "before its start" : "past its end",
                    when);
        hc_fill_edges(b);
    }
    hc_arena_close_one(b);
}

void hc_check_all_canaries(const char *when) {
    if (!hc_options_get()->checks) return;
    hc_arena_open();
    int count;
    hc_buffer *buffers = hc_arena_buffers(&count);
    for (int i = 0; i < count; i++) hc_check_canaries(&buffers[i], when);
    hc_arena_close();
}

/* After a failed kernel a program cannot tidy up: only the failure is reported. */
void hc_report_leaks(void) {
    if (hc_sticky() || !hc_options_get()->leaks) return;
    int count;
    const hc_buffer *buffers = hc_arena_buffers(&count);
    for (int i = 0; i < count; i++) {
        const hc_buffer *b = &buffers[i];
        if (b->freed) continue;
        hc_complain("leak", b->allocated.file, b->allocated.line,
                    b->heap                 ? "free or delete in a kernel is missing"
                    : b->space == HC_PINNED ? "cudaFreeHost is missing"
                                            : "cudaFree is missing",
                    "%zu bytes allocated here were never freed", b->bytes);
    }
}
