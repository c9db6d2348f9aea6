/* timing.c: samples of each rung in turn, and what hostcuda counts (ladder.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostcuda/include/hostcuda/counts.h"
#include "ladder.h"
#include "programs/progress.h"
#include "tl/device_plugin.h"

/* A GPU that waits for so long is given all of a run before it begins. */
enum { HOLD_MICROSECONDS = 100 };

static tl_status run_once(const bench *b) { return b->row[0].run(b->ctx, b->row[0].argument); }

/* ---- times ---- */

/* Seconds of one run by the device's clock; both moments are used again. */
static tl_status device_sample(const bench *b, void *moment[2], double *seconds) {
    const tl_backend *ops = b->ctx->ops;
    TL_TRY(ops->hold(b->ctx, HOLD_MICROSECONDS));
    TL_TRY(ops->mark(b->ctx, &moment[0]));
    TL_TRY(run_once(b));
    TL_TRY(ops->mark(b->ctx, &moment[1]));
    return ops->between(b->ctx, moment[0], moment[1], seconds);
}

/* The same run just before leaves what it reads in the caches; other memory takes it out again. */
static tl_status sample(const ladder *l, const bench *b, bench_cache cache, double *seconds) {
    const tl_backend *ops = b->ctx->ops;
    TL_TRY(cache == WARM ? run_once(b) : ops->zero(b->ctx, l->cold_block, l->cold_bytes));
    if (ops->mark) {
        void *moment[2] = {NULL, NULL};
        tl_status status = device_sample(b, moment, seconds);
        for (int i = 0; i < 2; i++) ops->mark_free(b->ctx, moment[i]);
        return status;
    }
    TL_TRY(ops->sync(b->ctx));
    double begin = now_seconds();
    TL_TRY(run_once(b));
    TL_TRY(ops->sync(b->ctx));
    *seconds = now_seconds() - begin;
    return TL_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between two samples the line through both, as numpy and the twin's scripts have it. */
static double quantile(const double *sorted, int count, double share) {
    double at = share * (count - 1);
    int below = (int)at;
    int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static quartiles quartiles_of(const double *samples, int count) {
    double sorted[SAMPLES_MOST];
    memcpy(sorted, samples, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return (quartiles){quantile(sorted, count, 0.25), quantile(sorted, count, 0.5),
                       quantile(sorted, count, 0.75)};
}

/* ---- counts ---- */

static tl_status counts_of(const hostcuda_counts **counts) {
    const tl_plugin *plugin;
    TL_TRY(device_plugin_load(&plugin, "hostcuda"));
    *counts = plugin->counts ? plugin->counts() : NULL;
    TL_NEED(*counts && (*counts)->abi == HOSTCUDA_COUNTS_ABI && (*counts)->count_memory(true),
            TL_EDEVICE, "this hostcuda counts no memory: take the program of CHECK=1");
    return TL_OK;
}

static tl_status count(bench_rung *r) {
    enum { KERNELS = 256 };
    static hostcuda_kernel_counts kernel[KERNELS];
    const hostcuda_counts *counts;
    TL_TRY(counts_of(&counts));
    counts->reset();
    TL_TRY(run_once(&r->b));
    TL_TRY(r->ctx->ops->sync(r->ctx));
    r->launches = counts->launches();
    r->sectors = r->conflicts = 0;
    int kernels = counts->kernels(kernel, KERNELS);
    for (int i = 0; i < kernels && i < KERNELS; i++) {
        r->sectors += kernel[i].global_sectors;
        r->conflicts += kernel[i].bank_conflicts;
    }
    return TL_OK;
}

/* ---- all rungs ---- */

static tl_status sample_all(ladder *l, bench_cache cache, int index) {
    for (int i = 0; i < l->rungs; i++) {
        bench_rung *r = &l->rung[i];
        if (r->taking_part) TL_TRY(sample(l, &r->b, cache, &r->sample[cache][index]));
    }
    return TL_OK;
}

tl_status ladder_time(ladder *l) {
    if (l->counts) {
        for (int i = 0; i < l->rungs; i++)
            if (l->rung[i].taking_part) TL_TRY(count(&l->rung[i]));
        return TL_OK;
    }
    enum { WARM_UP = 3 }; /* whose samples the first real ones overwrite */
    for (int cache = 0; cache < CACHES; cache++) {
        for (int i = 0; i < WARM_UP; i++) TL_TRY(sample_all(l, cache, 0));
        for (int i = 0; i < l->samples; i++) TL_TRY(sample_all(l, cache, i));
    }
    for (int i = 0; i < l->rungs; i++)
        for (int cache = 0; cache < CACHES; cache++)
            l->rung[i].time[cache] = quartiles_of(l->rung[i].sample[cache], l->samples);
    return TL_OK;
}
