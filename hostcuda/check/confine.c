/* confine.c: allocations that are wider than the array in them, as those of a pool are, and of who
 * lays a fence around each array. Shadow knows allocations: a read beside the array would be one of
 * memory that exists and was written. So a buffer shrinks to its array for a while. */
#include "check.h"

/* Marks what lies around the array as written, or as no memory: hooks ask about it then. */
static void mark_around(const hc_buffer *b, bool written) {
    void (*mark)(const void *, size_t) = written ? hc_check_written : hc_check_unwritten;
    const char *end = b->start + b->bytes;
    mark(b->whole, (size_t)(b->start - b->whole));
    mark(end, (size_t)(b->whole + b->whole_bytes - end));
}

static void widen(hc_buffer *b) {
    if (!b->freed) mark_around(b, true);
    b->start = b->whole, b->bytes = b->whole_bytes;
    b->whole = NULL;
}

static bool holds(const hc_buffer *b, const hostcuda_array *a) {
    size_t at = (size_t)((const char *)a->start - b->start);
    return !b->freed && b->space == HC_DEVICE && at <= b->bytes && a->bytes <= b->bytes - at;
}

bool hc_check_confine(const hostcuda_array *arrays, int count) {
    int buffers;
    hc_buffer *all = hc_arena_buffers(&buffers);
    for (int i = 0; i < buffers; i++)
        if (all[i].whole) widen(&all[i]);
    for (int i = 0; i < count; i++) {
        hc_buffer *b = hc_arena_find(arrays[i].start);
        if (!b || b->whole || !holds(b, &arrays[i])) return false;
        b->whole = b->start, b->whole_bytes = b->bytes;
        b->start += (const char *)arrays[i].start - b->whole;
        b->bytes = arrays[i].bytes;
        mark_around(b, false);
    }
    return true;
}
