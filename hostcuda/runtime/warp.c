/* warp.c: shuffles and votes. The lanes of a mask wait until all of them have come; the last one
 * computes every lane's result, so that no lane can overwrite what another has yet to read. */
#include "internal.h"

#include <string.h>

static const char *name_of(hc_warp_kind kind) {
    static const char *const names[] = {"__syncwarp",       "__shfl_sync",     "__shfl_up_sync",
                                        "__shfl_down_sync", "__shfl_xor_sync", "a warp vote",
                                        "__match_any_sync", "__activemask",    "a wmma function"};
    return names[kind];
}

/* The lane whose value `lane` gets, or `lane` itself where CUDA leaves its own value. */
static inline int source_lane(const hc_thread *t, hc_warp_kind kind, int lane) {
    int width = t->width > 0 ? t->width : WARP, base = lane & ~(width - 1), from = lane;
    switch (kind) {
    case HC_SHFL:
        return base + (t->lane & (width - 1));
    case HC_SHFL_UP:
        from = lane - t->lane;
        return from < base ? lane : from;
    case HC_SHFL_DOWN:
        from = lane + t->lane;
        return from >= base + width ? lane : from;
    case HC_SHFL_XOR:
        from = lane ^ t->lane;
        return from >= base + width ? lane : from;
    default:
        return lane;
    }
}

/* All lanes are here, so the last one to come works for all. */
static void multiply(hc_thread *lanes) {
    hc_mma *all[WARP];
    for (int i = 0; i < WARP; i++) all[i] = (hc_mma *)(uintptr_t)lanes[i].value;
    const hc_mma *first = all[0];
    for (int i = 0; i < WARP && first; i++)
        if (!all[i]) first = NULL;
    if (!first) return;
    double a[HC_MMA_MOST], b[HC_MMA_MOST];
    int m = first->m, n = first->n, k = first->k;
    for (int e = 0; e < m * k; e++) a[e] = all[first->at_a[e] % WARP]->a[first->at_a[e] / WARP];
    for (int e = 0; e < k * n; e++) b[e] = all[first->at_b[e] % WARP]->b[first->at_b[e] / WARP];
    for (int row = 0; row < m; row++) {
        const uint16_t *at = first->at_c + row * n;
        double sum[32];
        for (int j = 0; j < n; j++) sum[j] = all[at[j] % WARP]->c[at[j] / WARP];
        for (int i = 0; i < k; i++)
            for (int j = 0; j < n; j++) sum[j] += a[row * k + i] * b[i * n + j];
        for (int j = 0; j < n; j++) all[at[j] % WARP]->d[at[j] / WARP] = sum[j];
    }
}

/* One kind for all lanes of the mask, known where this is put in. */
static inline __attribute__((always_inline)) void
spread(hc_thread *lanes, unsigned mask, const uint64_t *values, hc_warp_kind kind) {
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        int from = source_lane(&lanes[i], kind, i);
        /* a lane outside of the mask gives nothing: ours is kept */
        if (from >= 0 && from < WARP && mask >> from & 1) lanes[i].value = values[from];
    }
}

static void complete(hc_thread *lanes, unsigned mask, hc_warp_kind kind) {
    uint64_t values[WARP];
    unsigned ballot = 0;
    if (kind == HC_MMA || kind == HC_SYNCWARP) return;
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        values[i] = lanes[i].value;
        ballot |= (unsigned)(lanes[i].value & 1) << i;
    }
    switch (kind) {
    case HC_SHFL:
        return spread(lanes, mask, values, HC_SHFL);
    case HC_SHFL_UP:
        return spread(lanes, mask, values, HC_SHFL_UP);
    case HC_SHFL_DOWN:
        return spread(lanes, mask, values, HC_SHFL_DOWN);
    case HC_SHFL_XOR:
        return spread(lanes, mask, values, HC_SHFL_XOR);
    default:
        break;
    }
    for (unsigned rest = mask; rest; rest &= rest - 1) {
        int i = __builtin_ctz(rest);
        unsigned same = 0;
        for (int k = 0; k < WARP && kind == HC_MATCH_ANY; k++)
            if (mask >> k & 1) same |= (unsigned)(values[k] == values[i]) << k;
        lanes[i].value = kind == HC_MATCH_ANY ? same : ballot;
    }
}

static void fail(hc_worker *w, const hc_thread *at, const char *kind, const char *likely,
                 const char *what, unsigned lanes) {
    hc_text t;
    hc_report_begin(&t, kind, at->site.file, at->site.line);
    hc_add(&t, "%s with mask 0x%08x: %s (lanes 0x%08x)", name_of(at->kind), at->mask, what, lanes);
    hc_switch_position(w, (int)(at - w->threads));
    hc_report_thread(&t);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

static void fail_exited(hc_worker *w, const hc_thread *at, unsigned gone) {
    fail(w, at, "shuffle-exited-lane",
         "some threads returned before the warp function; let all lanes take part (load 0 where "
         "there is no element) or build the mask with __ballot_sync while all are there",
         "lanes of the mask have already returned", gone);
}

void hc_warp_lane_exits(hc_worker *w, int thread) {
    hc_warp_state *warp = &w->warps[thread / WARP];
    for (int i = 0; i < WARP; i++) {
        const hc_thread *t = &w->threads[thread / WARP * WARP + i];
        if (!(warp->waiting >> i & 1) || t->kind == HC_ACTIVEMASK) continue;
        if (t->mask >> thread % WARP & 1) fail_exited(w, t, warp->exited & t->mask);
    }
}

/* Lanes that wait with this lane's kind and mask. */
static unsigned companions(const hc_worker *w, int thread) {
    const hc_warp_state *warp = &w->warps[thread / WARP];
    const hc_thread *mine = &w->threads[thread], *lanes = &w->threads[thread / WARP * WARP];
    unsigned same = 0;
    for (int i = 0; i < WARP; i++)
        if (warp->waiting >> i & 1)
            same |= (unsigned)(lanes[i].kind == mine->kind && lanes[i].mask == mine->mask) << i;
    return same;
}

uint64_t hc_warp(hc_warp_kind kind, unsigned mask, uint64_t value, int lane, int width,
                 const char *file, int line) {
    hc_worker *w = hc_self;
    if (!w || !w->in_kernel) return value;
    int me = w->current, first = me / WARP * WARP;
    hc_thread *t = &w->threads[me];
    hc_warp_state *warp = &w->warps[me / WARP];
    t->site = (hc_site){file, line};
    t->kind = kind;
    t->mask = mask;
    t->value = value;
    t->lane = lane;
    t->width = width;
    if (kind != HC_ACTIVEMASK) {
        if (!(mask >> (me - first) & 1))
            fail(w, t, "shuffle-wrong-mask", "each calling thread must set its own bit in the mask",
                 "the calling lane is not in the mask", 1u << (me - first));
        if (warp->exited & mask) fail_exited(w, t, warp->exited & mask);
    }
    warp->waiting |= 1u << (me - first);
    unsigned wanted = mask & warp->exists; /* a full mask is usual in a last, partial warp */
    if (kind != HC_ACTIVEMASK && (warp->waiting & wanted) == wanted &&
        (companions(w, me) & wanted) == wanted) {
        if (kind == HC_MMA && wanted != ~0u)
            fail(w, t, "shuffle-missing-lane",
                 "launch blocks of whole warps: a multiple of 32 threads",
                 "lanes of the mask were never started", ~wanted);
        if (kind == HC_MMA) multiply(&w->threads[first]);
        complete(&w->threads[first], wanted, kind);
        if (kind == HC_SYNCWARP) hc_check_syncwarp(w, me / WARP, wanted);
        warp->waiting &= ~wanted;
        for (int i = 0; i < WARP; i++)
            if (wanted >> i & 1 && first + i != me) hc_make_ready(w, first + i);
        return t->value;
    }
    hc_thread_wait(w);
    return t->value;
}

/* Without lock-step "who is active" means: who is here when no lane can go on. Called when nothing
 * else can run; true if that woke somebody. */
bool hc_warp_resolve_active(hc_worker *w) {
    for (int i = 0; i * WARP < w->count; i++) {
        hc_thread *lanes = &w->threads[i * WARP];
        unsigned here = 0;
        const hc_thread *first = NULL;
        for (int k = 0; k < WARP; k++) {
            if (!(w->warps[i].waiting >> k & 1) || lanes[k].kind != HC_ACTIVEMASK) continue;
            if (!first) first = &lanes[k];
            if (lanes[k].site.line == first->site.line) here |= 1u << k;
        }
        if (!here) continue;
        w->warps[i].waiting &= ~here;
        for (int k = 0; k < WARP; k++) {
            if (!(here >> k & 1)) continue;
            lanes[k].value = here;
            hc_make_ready(w, i * WARP + k);
        }
        return true;
    }
    return false;
}

/* The block cannot go on: some lanes wait in a warp function, the others elsewhere. */
void hc_report_stuck(hc_worker *w) {
    for (int i = 0; i * WARP < w->count; i++) {
        unsigned waiting = w->warps[i].waiting;
        for (int k = 0; k < WARP; k++) {
            const hc_thread *t = &w->threads[i * WARP + k];
            if (!(waiting >> k & 1)) continue;
            unsigned missing = t->mask & w->warps[i].exists & ~companions(w, i * WARP + k);
            fail(w, t, "shuffle-missing-lane",
                 "a warp function stands inside an if that only some lanes take, or the lanes pass "
                 "different masks; name exactly the lanes that arrive",
                 "lanes of the mask wait somewhere else and never come", missing);
        }
    }
    hc_counter_report_stuck(w);
    hc_text t;
    hc_report_begin(&t, "deadlock", w->launch->site.file, w->launch->site.line);
    hc_add(&t, "%d of %d threads of a block wait and none can go on", w->count - w->exited,
           w->count);
    hc_report_thread(&t);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

/* A GPU loads and stores fragments by 16 bytes. */
void hc_warp_aligned(const void *p, size_t row_bytes, const char *file, int line) {
    if (((uintptr_t)p % 16 == 0 && row_bytes % 16 == 0) || !hc_self) return;
    hc_text t;
    hc_report_begin(&t, "misaligned-address", file, line);
    if (row_bytes % 16)
        hc_add(&t, "a wmma matrix whose rows lie %zu bytes apart, which is no multiple of 16",
               row_bytes);
    else
        hc_add(&t, "a wmma matrix begins at an address that is no multiple of 16 bytes");
    hc_report_thread(&t);
    hc_report_likely(&t,
                     "pad rows to a multiple of 8 halves or 4 floats, and let a matrix begin at "
                     "one (__align__(16) of a __shared__ array)");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorMisalignedAddress);
}
