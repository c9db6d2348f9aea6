/* whole.c: grids whose blocks wait for each other (cudaLaunchCooperativeKernel and grid.sync()).
 *
 * One worker runs each block up to the barrier and parks it: its threads keep their stacks, what
 * else is the block's is copied away, shared memory too, for all blocks have it at one address.
 * When all blocks are there, one after the other goes on, to the next barrier or to its end. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct parked {
    uint64_t block;
    int count, exited;
    hc_thread *threads;
    hc_warp_state *warps;
    uint16_t *waiting;
    int waiting_count;
    hc_site barrier;
    void *shared, *kept; /* by the checkers */
} parked;

typedef struct phase {
    parked *blocks;
    size_t count, room, next; /* blocks before `next` have gone on */
} phase;
static phase waiting, going; /* for the next barrier; from the last one */

static void *copy_of(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    if (!to) abort();
    return memcpy(to, from, bytes);
}

void hc_whole_park(hc_worker *w, uint64_t block) {
    if (waiting.count == waiting.room) {
        waiting.room = waiting.room ? 2 * waiting.room : 64;
        waiting.blocks = realloc(waiting.blocks, waiting.room * sizeof *waiting.blocks);
        if (!waiting.blocks) abort();
    }
    parked *p = &waiting.blocks[waiting.count++];
    size_t count = (size_t)w->count, warps = (count + WARP - 1) / WARP;
    *p = (parked){.block = block,
                  .count = w->count,
                  .exited = w->exited,
                  .waiting_count = w->waiting_count,
                  .barrier = w->barrier};
    p->threads = copy_of(w->threads, count * sizeof *w->threads);
    p->warps = copy_of(w->warps, warps * sizeof *w->warps);
    p->waiting = copy_of(w->waiting, (size_t)w->waiting_count * sizeof *w->waiting);
    p->shared = hc_shared_save(w);
    p->kept = hc_check_block_parks(w);
}

static void drop(parked *p) {
    free(p->threads);
    free(p->warps);
    free(p->waiting);
    free(p->shared);
    free(p->kept);
}

static void go_on(hc_worker *w, const hc_launch *launch, parked *p) {
    size_t count = (size_t)p->count, warps = (count + WARP - 1) / WARP;
    hc_block_place(launch, p->block);
    w->count = w->started = p->count;
    w->exited = p->exited;
    w->ready_first = w->ready_count = 0;
    w->waiting_count = p->waiting_count;
    w->barrier = p->barrier;
    w->at_grid = false;
    memcpy(w->threads, p->threads, count * sizeof *w->threads);
    memcpy(w->warps, p->warps, warps * sizeof *w->warps);
    memcpy(w->waiting, p->waiting, (size_t)p->waiting_count * sizeof *w->waiting);
    hc_shared_restore(w, p->shared);
    hc_check_block_goes_on(w, p->kept);
    uint64_t block = p->block;
    drop(p);
    w->current = w->waiting[0];
    hc_block_release(w);
    hc_block_go(w, block);
}

/* Some blocks have ended: those that wait would do so for ever. */
static void others_ended(hc_worker *w, const hc_launch *launch, uint64_t number) {
    const parked *p = &waiting.blocks[0];
    hc_block_place(launch, p->block);
    w->current = p->waiting[0];
    threadIdx = p->threads[w->current].index;
    hc_text t;
    hc_report_begin(&t, "divergent-barrier", p->barrier.file, p->barrier.line);
    hc_add(&t, "%zu blocks wait for the whole grid here, but %llu others have ended",
           waiting.count,
           (unsigned long long)number);
    hc_report_thread(&t);
    hc_report_likely(&t, "a `return` or an if that only some blocks take is before grid.sync(); "
                         "all blocks of the grid must reach it equally often");
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

void hc_whole_run(hc_worker *w, hc_launch *launch) {
    uint64_t all = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    while (waiting.count > 0) {
        if (waiting.count < all) others_ended(w, launch, all - waiting.count);
        phase empty = going;
        going = waiting, waiting = empty;
        going.next = waiting.count = 0;
        hc_check_grid_barrier();
        while (going.next < going.count) go_on(w, launch, &going.blocks[going.next++]);
    }
    going.count = 0;
}

/* A thread has failed: what is parked never goes on. */
void hc_whole_drop(void) {
    for (size_t i = 0; i < waiting.count; i++) drop(&waiting.blocks[i]);
    for (size_t i = going.next; i < going.count; i++) drop(&going.blocks[i]);
    waiting.count = going.count = going.next = 0;
}

bool hc_grid_cooperative(void) {
    return hc_self && hc_self->in_kernel && hc_self->launch->cooperative;
}

void hc_grid_barrier(const char *file, int line) {
    if (hc_self && hc_self->in_kernel && !hc_grid_cooperative()) {
        hc_text t;
        hc_report_begin(&t, "launch-configuration", file, line);
        hc_add(&t, "grid.sync() in a kernel that an ordinary launch has started");
        hc_report_thread(&t);
        hc_report_likely(&t, "blocks can wait for each other only if all of them are there: launch "
                             "with cudaLaunchCooperativeKernel, or end the kernel and launch a "
                             "second one");
        hc_report_end(&t);
        hc_kernel_fail(cudaErrorLaunchFailure);
    }
    hc_barrier(HC_GRID, 0, file, line);
}
