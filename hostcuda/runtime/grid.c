/* grid.c: the blocks of one launch over the workers.
 *
 * The calling thread is worker 0 and begins alone. Only when the launch has already taken a while
 * and blocks are left does it wake the others: a small grid must not pay for waking them. Which
 * worker runs a block changes nothing in it: order and memory depend on the seed and the block. */
#define _GNU_SOURCE
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALONE_NS = 30000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    uint64_t generation; /* number of the launch that the pool was last woken for */
    int busy, threads;
    pid_t owner;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static hc_worker *workers;
static int worker_count;
static hc_launch *running;
static uint64_t launch_number, block_count, next_block;
static int failure;

hc_worker *hc_workers(int *count) {
    *count = workers ? worker_count : 0;
    return workers;
}

uint64_t hc_grid_left(void) {
    uint64_t next = __atomic_load_n(&next_block, __ATOMIC_RELAXED);
    return next < block_count ? block_count - next : 0;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Blocks in seeded order: from any first one, up or down. */
static uint64_t block_at(uint64_t k) {
    uint64_t order = hc_mix(hc_options_get()->seed + launch_number);
    uint64_t at = (order >> 1) % block_count + k;
    if (at >= block_count) at -= block_count;
    return order & 1 ? block_count - 1 - at : at;
}

static void wake_pool(void);

/* Takes blocks until none is left or one has failed. */
static void work(hc_worker *w, bool wakes) {
    hc_launch *launch = running;
    hc_self = w;
    hc_fault_thread();
    w->handle = pthread_self();
    w->launch = launch;
    w->failure = cudaSuccess;
    w->touches = 0;
    blockDim = launch->block;
    gridDim = launch->grid;
    hc_shared_prepare(w, launch, launch_number);
    if (sigsetjmp(w->escape, 0)) { /* a thread failed; its message is out */
        w->in_kernel = 0;
        hc_stacks_reset(&w->stacks);
        hc_whole_drop();
        __atomic_store_n(&failure, (int)w->failure, __ATOMIC_RELEASE);
        hc_self = NULL;
        return;
    }
    bool may_wake = wakes && !launch->cooperative;
    uint64_t start = may_wake ? now_ns() : 0;
    while (!__atomic_load_n(&failure, __ATOMIC_ACQUIRE)) {
        uint64_t k = __atomic_fetch_add(&next_block, 1, __ATOMIC_RELAXED);
        if (k >= block_count) break;
        hc_block_run(w, launch, block_at(k));
        if (may_wake && k + 2 < block_count && now_ns() - start > ALONE_NS) {
            wake_pool();
            may_wake = false;
        }
    }
    if (launch->cooperative) hc_whole_run(w, launch);
    hc_self = NULL;
}

static void *pool_main(void *self) {
    hc_worker *w = self;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.generation == seen) pthread_cond_wait(&pool.wake, &pool.lock);
        seen = pool.generation;
        pthread_mutex_unlock(&pool.lock);
        work(w, false);
        pthread_mutex_lock(&pool.lock);
        if (--pool.busy == 0) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

/* Threads do not survive a fork: the child starts its own. */
static void after_fork(void) {
    pool.threads = 0;
    pool.busy = 0;
}

static void wake_pool(void) {
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < worker_count - 1) {
        pthread_t thread;
        hc_worker *w = &workers[pool.threads + 1];
        if (pthread_create(&thread, NULL, pool_main, w) != 0)
            break; /* fewer workers, same result */
        pthread_detach(thread);
        pool.threads++;
    }
    pool.busy = pool.threads;
    pool.generation = launch_number;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

static void make_workers(void) {
    worker_count = hc_options_get()->workers;
    size_t bytes = (size_t)worker_count * sizeof *workers;
    workers = aligned_alloc(_Alignof(hc_worker), bytes);
    if (!workers) abort();
    memset(workers, 0, bytes);
    for (int i = 0; i < worker_count; i++) workers[i].index = i;
    pthread_atfork(NULL, NULL, after_fork);
}

cudaError_t hc_grid_run(hc_launch *launch) {
    if (!workers) make_workers();
    hc_watchdog_start();
    running = launch;
    hc_counts_launch(launch);
    hc_check_launch_begins();
    launch_number++;
    block_count = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    next_block = 0;
    failure = 0;
    work(&workers[0], worker_count > 1);
    pthread_mutex_lock(&pool.lock);
    while (pool.busy > 0) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    running = NULL;
    hc_check_launch_ends(launch);
    return (cudaError_t)failure;
}
