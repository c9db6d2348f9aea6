/* race.c: which accesses may meet. Two conflict if they touch the same byte in one launch, at least
 * one writes, not both are atomic, and nothing orders them:
 *
 *   in a block     __syncthreads() between (a later interval), or __syncwarp() of both lanes
 *   between any    a __threadfence() and then an atomic (or volatile) access by the first, an
 *                  atomic (or volatile) access to the same place by the second: a lock, a ticket,
 *                  a flag
 *
 * Two writes conflict only if they leave different values: setting one flag from many threads is
 * allowed in CUDA. A hook runs before its write, so the values are compared at the next hook. */
#include "check.h"

#include <string.h>

/* ---- the verdict ---- */

typedef enum conflict { NONE, IN_BLOCK, BETWEEN_BLOCKS } conflict;

static conflict conflict_of(const hc_access *a, uint64_t old, uint64_t word) {
    if (old < a->region->first || !hc_check.races) return NONE;
    if (!(old & word & BYTES_MASK) || (old & word & STRONG_BIT)) return NONE;
    if (old & BLOCKS_BIT) return hc_check_ordered_between_blocks(old) ? NONE : BETWEEN_BLOCKS;
    if (old >= hc_check.interval_first) {
        if (word_thread(old) == word_thread(word) && !(old & MANY_BIT)) return NONE;
        return hc_check_ordered_in_warp(old) || hc_check_ordered_by_place(old) ? NONE : IN_BLOCK;
    }
    if (old >= hc_check.block_first) return NONE; /* a barrier stands between */
    return hc_check_ordered_between_blocks(old) ? NONE : BETWEEN_BLOCKS;
}

/* A read of unwritten bytes is reported when the interval ends; if another thread writes them
 * before, a barrier is missing. Only the first is kept. */
static struct {
    bool is_set;
    hc_access access;
    uint3 thread;
} early;

void hc_check_early(const hc_access *a) {
    if (early.is_set || !hc_check.races) return;
    early.is_set = true;
    early.access = *a;
    early.thread = threadIdx;
}

void hc_check_tell_early(void) {
    if (!early.is_set) return;
    early.is_set = false;
    threadIdx = early.thread;
    hc_check_fail_unwritten(&early.access);
}

/* Access `a` writes what word `old` read in this interval. If the reads of that line came too
 * early, it is reported there: who reads waits for too little. */
static void fail_early(const hc_access *a, uint64_t old) {
    unsigned count, writes = hc_check_new_site(a->pc, a->bytes, a->kind);
    unsigned reads = (unsigned)(old & SITE_MASK);
    hc_check_site *sites = hc_check_sites(&count);
    if (!early.is_set || sites[reads].pc != early.access.pc) return;
    hc_check_find_lines(writes, writes + 1);
    const uint3 writer = threadIdx;
    const hc_thread *reader = &hc_self->threads[word_thread(old)];
    hc_text t;
    hc_check_message_begin(&t, "race", early.access.pc);
    hc_add(&t, "reads %s memory before thread (%u,%u,%u) writes it at line %d",
           a->region == &hc_check.region[REGION_SHARED] ? "shared" : "global", writer.x, writer.y,
           writer.z, sites[writes].line);
    threadIdx = reader->index;
    hc_report_thread(&t);
    hc_check_message_where(&t, a);
    hc_add(&t, "\n    other    %s:%d", hc_report_shorten(sites[writes].file), sites[writes].line);
    hc_report_likely(&t, "a __syncthreads() is missing between writing and reading");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

/* Was the access of word `other` on the line of access `a`? */
static bool on_one_line(const hc_access *a, uint64_t other) {
    unsigned count, here = hc_check_new_site(a->pc, a->bytes, a->kind);
    unsigned there = (unsigned)(other & SITE_MASK);
    hc_check_find_lines(here, here + 1);
    hc_check_find_lines(there, there + 1);
    const hc_check_site *sites = hc_check_sites(&count);
    return sites[here].line == sites[there].line && !strcmp(sites[here].file, sites[there].file);
}

/* `bins[b]++` of several threads: the other one has read this place and then written it, both on
 * the line of access `a`, which reads it by the same instruction. (Another one of that line is for
 * another element: x[i + d] of `x[i] += x[i + d]`.) */
static bool is_update(const hc_access *a, uint64_t old) {
    const hc_cell *c = a->region->cells + (a->address - a->region->base) / 4;
    if (c->write < a->region->first || (c->read ^ c->write) >> THREAD_SHIFT) return false;
    unsigned here = hc_check_new_site(a->pc, a->bytes, a->kind);
    if (!(a->kind & ACCESS_WRITE) && here != (unsigned)(c->read & SITE_MASK)) return false;
    return on_one_line(a, old) && on_one_line(a, c->read) && on_one_line(a, c->write);
}

/* Two threads of a block run one line, no update; `stores`: both write. */
static const char *likely_on_one_line(bool stores, bool in_warp) {
    if (stores)
        return "several threads run this line and store to one element, and which comes last is "
               "open: give each thread an element of its own, or let one of them store";
    if (in_warp)
        return "two threads run this line, and one reads what the other writes: a __syncthreads() "
               "is missing between, in a loop between its passes (both threads are of one warp, "
               "which does not run in lock-step: __syncwarp() would do too)";
    return "two threads run this line, and one reads what the other writes: a __syncthreads() is "
           "missing between, in a loop between its passes; without a loop read into a local "
           "variable first";
}

static const char *likely(const hc_access *a, uint64_t old, bool old_wrote, conflict how) {
    bool atomic = (a->kind & ACCESS_STRONG) || (old & STRONG_BIT);
    if (!atomic && is_update(a, old))
        return "several threads run this line for one element, and `x[i] += v` is a read and a "
               "write: what another thread adds between is lost; is only one of them meant to, or "
               "is the index wrong? Else use atomicAdd(&x[i], v), or give each thread an element "
               "of "
               "its own";
    if (how == BETWEEN_BLOCKS)
        return "blocks run in any order: give each block its own elements (should both come here, "
               "or is an index wrong?), end the kernel and launch a second one, or combine with "
               "atomicAdd and its kin";
    if (atomic)
        return "an atomic protects only against other atomics: put a __syncthreads() between, or "
               "make both accesses atomic";
    bool in_warp =
        word_thread(old) / WARP == hc_self->current / WARP && word_clock(old) != CLOCK_WARPS;
    if (on_one_line(a, old))
        return likely_on_one_line(old_wrote && a->kind & ACCESS_WRITE, in_warp);
    if (in_warp)
        return "a __syncthreads() is missing between the two lines (both threads are of one warp, "
               "which does not run in lock-step: __syncwarp() would do too)";
    return "a __syncthreads() is missing between the two lines (in a loop also between its end "
           "and its beginning)";
}

static void fail(const hc_access *a, uint64_t old, bool old_wrote, conflict how) {
    hc_text t;
    if (!old_wrote && how == IN_BLOCK) fail_early(a, old);
    const hc_worker *w = hc_self;
    unsigned count, site = (unsigned)(old & SITE_MASK);
    hc_check_find_lines(site, site + 1);
    const hc_check_site *other = &hc_check_sites(&count)[site];
    bool shared = a->region == &hc_check.region[REGION_SHARED];
    hc_check_message_begin(&t, how == IN_BLOCK ? "race" : "race-between-blocks", a->pc);
    hc_add(&t, "%s %s memory that ",
           a->kind & ACCESS_ATOMIC  ? "atomically updates"
           : a->kind & ACCESS_WRITE ? "writes"
                                    : "reads",
           shared ? "shared" : "global");
    if (how == IN_BLOCK) {
        const hc_thread *thread = &w->threads[word_thread(old)];
        hc_add(&t, "thread (%u,%u,%u)", thread->index.x, thread->index.y, thread->index.z);
    } else {
        hc_add(&t, "another block");
    }
    hc_add(&t, " %s%s", old & STRONG_BIT ? "atomically " : "",
           old_wrote ? old & STRONG_BIT ? "updates" : "writes" : "reads");
    bool known = other->line > 0; /* clang gives code that it has joined none */
    if (known) hc_add(&t, " at line %d", other->line);
    hc_report_thread(&t);
    hc_check_message_where(&t, a);
    if (known) hc_add(&t, "\n    other    %s:%d", hc_report_shorten(other->file), other->line);
    hc_report_likely(&t, likely(a, old, old_wrote, how));
    bool buffer = !shared && hc_arena_find((const void *)a->address);
    if (buffer && known && !on_one_line(a, old))
        hc_add(&t, "; or one of the two lines means another array, and its index leads into this");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

/* ---- readers ---- */

/* A CAS loop begins with a plain read, in every textbook: `old = *p; do … atomicCAS(p, …)`. What
 * that line reads is compared again by the atomicCAS, so it may meet atomics. */
void hc_check_compares(const hc_region *r, size_t at) {
    uint64_t read = r->cells[at / 4].read;
    unsigned count;
    if (read >= r->first && (read ^ hc_check.me) >> THREAD_SHIFT == 0)
        hc_check_sites(&count)[read & SITE_MASK].is_compared = true;
}

static bool is_compared(uint64_t read, uint64_t atomic) {
    unsigned count;
    return (atomic & STRONG_BIT) && !(read & STRONG_BIT) &&
           hc_check_sites(&count)[read & SITE_MASK].is_compared;
}

/* The record is one for a word, and what it says holds for all of its bytes: of two readers' bytes
 * those stay that both have read. So neighbours in one word, each its owner's, make no race. */
static uint64_t read_by_both(uint64_t old, uint64_t word) {
    return (word & ~BYTES_MASK) | (old & word & BYTES_MASK);
}

static void add_reader(hc_cell *c, uint64_t word, uint64_t first) {
    uint64_t old = c->read;
    bool overlap = old & word & BYTES_MASK;
    if (old < first) {
        c->read = word;
    } else if (old >= hc_check.interval_first) {
        bool other = word_thread(old) != word_thread(word);
        bool several = other || (old & (BLOCKS_BIT | MANY_BIT));
        if (several && !overlap) return; /* the first stays */
        if (other &&
            hc_check_ordered_in_warp(old)) { /* who comes after us comes after the old reader too */
            c->read = word | (old & BLOCKS_BIT);
            return;
        }
        uint64_t kept = old & (BLOCKS_BIT | MANY_BIT);
        bool weak = !(old & word & STRONG_BIT);
        if (other) {
            kept |= MANY_BIT;
            if (word_thread(old) / WARP != word_thread(word) / WARP) kept |= CLOCK_MASK;
        }
        if (word_clock(old) == CLOCK_WARPS) kept |= CLOCK_MASK;
        uint64_t both = several ? read_by_both(old, word) : word | (old & BYTES_MASK);
        c->read = (weak ? both & ~STRONG_BIT : both) | kept;
    } else if (old >= hc_check.block_first) {
        c->read = old & BLOCKS_BIT && overlap ? read_by_both(old, word) | BLOCKS_BIT : word;
    } else {
        c->read = overlap ? read_by_both(old, word) | BLOCKS_BIT : word;
    }
}

void hc_check_read(const hc_access *a, hc_cell *cell, uint64_t word) {
    conflict how = conflict_of(a, cell->write, word);
    if (how && !is_compared(word, cell->write)) fail(a, cell->write, true, how);
    add_reader(cell, word, a->region->first);
}

/* ---- writers ---- */

static struct {
    hc_access access;
    uint64_t old;
    conflict how;
    unsigned char before[16];
} pending;

void hc_check_compare(void) {
    hc_check.pending = false;
    const void *p = (const void *)pending.access.address;
    if (memcmp(pending.before, p, pending.access.bytes) != 0)
        fail(&pending.access, pending.old, true, pending.how);
}

void hc_check_write(const hc_access *a, hc_cell *cell, uint64_t word) {
    conflict how = conflict_of(a, cell->read, word);
    if (how && !is_compared(cell->read, word)) fail(a, cell->read, false, how);
    uint64_t old = cell->write;
    how = conflict_of(a, old, word);
    if (how && (a->kind & ACCESS_ATOMIC)) fail(a, old, true, how);
    if (how && !hc_check.pending) {
        hc_check.pending = true;
        pending.access = *a;
        pending.old = old;
        pending.how = how;
        memcpy(pending.before, (const void *)a->address, a->bytes);
    }
    bool mine = (old ^ word) >> THREAD_SHIFT == 0;
    cell->write = word | (mine ? old & BYTES_MASK : 0);
}

void hc_check_forget_pending(void) { hc_check.pending = early.is_set = false; }
