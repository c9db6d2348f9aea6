/* 01_place.c: where the results of a net lie: offsets in one piece of memory, fixed before the
 * first step.
 *
 * The largest buffer first, each into the smallest gap that the buffers needed at the same time
 * leave (Pisarchyk, Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, greedy
 * by size). What is left over later is small, and fits into the gaps of the large. */
#include "kernels/net/01_planned.h"

enum { ALIGNMENT = 256 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static bool meet(const tl_net_buffer *a, const tl_net_buffer *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The smallest gap for b between the `count` buffers in `placed`, which lie in order of offset; or
 * behind all of them that meet it. */
static size_t find_gap(const tl_net_plan *plan, const tl_net_buffer *b, const short placed[],
                       int count) {
    size_t end = 0, best = SIZE_MAX, at = 0;
    for (int i = 0; i < count; i++) {
        const tl_net_buffer *other = &plan->buffer[placed[i]];
        if (!meet(b, other)) continue;
        if (other->offset >= end + b->bytes && other->offset - end < best)
            best = other->offset - end, at = end;
        size_t behind = other->offset + aligned(other->bytes);
        if (behind > end) end = behind;
    }
    return best == SIZE_MAX ? end : at;
}

/* The largest that has no place yet; of equals the first. */
static int next_of(const tl_net_plan *plan, const bool done[]) {
    int next = -1;
    for (int i = 0; i < plan->buffers; i++)
        if (!done[i] && (next < 0 || plan->buffer[i].bytes > plan->buffer[next].bytes)) next = i;
    return next;
}

void tl_rung_net_place(tl_net_plan *plan) {
    short placed[TL_NET_BUFFERS];
    bool done[TL_NET_BUFFERS] = {false};
    plan->bytes = 0;
    for (int count = 0; count < plan->buffers; count++) {
        int i = next_of(plan, done), at = count;
        tl_net_buffer *b = &plan->buffer[i];
        b->offset = find_gap(plan, b, placed, count);
        done[i] = true;
        for (; at > 0 && plan->buffer[placed[at - 1]].offset > b->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = (short)i;
        if (b->offset + aligned(b->bytes) > plan->bytes)
            plan->bytes = b->offset + aligned(b->bytes);
    }
}
