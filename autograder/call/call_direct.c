/* call_direct.c: runs a call in this process: frames to the device, the operation's row, and back.
 */
#define _GNU_SOURCE /* dladdr */
#include "call_memory.h"
#include "call_steps.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostcuda/include/hostcuda/counts.h"
#include "tl/device_plugin.h"
#include "tl/device.h"

/* Contexts are opened once per process: a suite makes hundreds of calls on a handful of targets. */
enum { CONTEXTS = 16 };
static struct {
    char device[16], rungs[48];
    int threads;
    tl_precision precision;
    tl_ctx *ctx;
} context[CONTEXTS];
static int contexts;

static tl_status find_context(tl_ctx **ctx, const call_target *t) {
    for (int i = 0; i < contexts; i++) {
        if (strcmp(context[i].device, t->device) || strcmp(context[i].rungs, t->rungs)) continue;
        if (context[i].threads != t->threads || context[i].precision != t->precision) continue;
        *ctx = context[i].ctx;
        return TL_OK;
    }
    TL_NEED(contexts < CONTEXTS, TL_EINVAL, "more than %d targets in one process", CONTEXTS);
    TL_NEED(strlen(t->device) < sizeof context[0].device, TL_EINVAL, "device name is too long");
    TL_NEED(strlen(t->rungs) < sizeof context[0].rungs, TL_EINVAL, "list of rungs is too long");
    const tl_device_options options = {.rungs = t->rungs, .threads = t->threads};
    TL_TRY(tl_device_open_in(ctx, t->device, &options, t->precision));
    strcpy(context[contexts].device, t->device);
    strcpy(context[contexts].rungs, t->rungs);
    context[contexts].threads = t->threads;
    context[contexts].precision = t->precision;
    context[contexts++].ctx = *ctx;
    return TL_OK;
}

/* What hostcuda's plug-in counts, which is loaded already; NULL where there is nothing to ask. */
static const hostcuda_counts *find_counts(const char *device) {
    static const hostcuda_counts *counts;
    const tl_plugin *plugin;
    if (counts || strcmp(device, "hostcuda") != 0) return counts;
    if (device_plugin_load(&plugin, device) != TL_OK || !plugin->counts) return NULL;
    if (plugin->counts()->abi == HOSTCUDA_COUNTS_ABI) counts = plugin->counts();
    return counts;
}

/* Memory traffic of all kernels so far; only the check build counts it, and only if asked to. */
static void read_traffic(const hostcuda_counts *counts, int64_t counter[CALL_COUNTERS]) {
    if (!counts->count_memory(true)) return;
    int kernels = counts->kernels(NULL, 0);
    hostcuda_kernel_counts *kernel = calloc((size_t)kernels + 1, sizeof *kernel);
    if (!kernel) return;
    counts->kernels(kernel, kernels);
    counter[CALL_SECTORS] = counter[CALL_CONFLICTS] = 0;
    counter[CALL_REQUESTS] = counter[CALL_SHARED] = 0;
    for (int i = 0; i < kernels; i++) {
        counter[CALL_SECTORS] += (int64_t)kernel[i].global_sectors;
        counter[CALL_CONFLICTS] += (int64_t)kernel[i].bank_conflicts;
        counter[CALL_REQUESTS] += (int64_t)kernel[i].global_requests;
        counter[CALL_SHARED] += (int64_t)kernel[i].shared_requests;
    }
    free(kernel);
}

/* What was counted since the program began; queued work must be done. */
static void read_counters(const call_wire *w, int64_t counter[CALL_COUNTERS]) {
    const hostcuda_counts *counts = find_counts(w->target.device);
    if (counts) counter[CALL_LAUNCHES] = (int64_t)counts->launches();
    if (counts && w->target.counted) read_traffic(counts, counter);
}

/* ---- which instructions cost most ---- */

typedef struct site_list {
    hostcuda_site_counts *site;
    int count;
} site_list;

/* All of them, as they are now; none where nobody counts, or counting was not asked for. */
static site_list read_sites(const call_wire *w) {
    const hostcuda_counts *counts = w->target.counted ? find_counts(w->target.device) : NULL;
    site_list all = {.count = counts ? counts->sites(NULL, 0) : 0};
    all.site = calloc((size_t)all.count + 1, sizeof *all.site);
    if (!all.site) all.count = 0;
    if (all.count) counts->sites(all.site, all.count);
    return all;
}

static int dearest_first(const void *a, const void *b) {
    const call_site *left = a, *right = b;
    int64_t more = right->sectors + right->conflicts - left->sectors - left->conflicts;
    if (more == 0) more = right->shared_requests - left->shared_requests;
    return (more > 0) - (more < 0);
}

/* What each has cost since `before`, which is freed. */
static void note_sites(call_wire *w, site_list before) {
    site_list now = read_sites(w);
    call_site *spent = calloc((size_t)now.count + 1, sizeof *spent);
    Dl_info plugin;
    int n = 0;
    for (int i = 0; spent && i < now.count; i++) {
        hostcuda_site_counts was = i < before.count ? before.site[i] : (hostcuda_site_counts){0};
        call_site s = {now.site[i].offset, (int64_t)(now.site[i].sectors - was.sectors),
                       (int64_t)(now.site[i].shared_requests - was.shared_requests),
                       (int64_t)(now.site[i].conflicts - was.conflicts)};
        if (s.sectors || s.shared_requests) spent[n++] = s;
    }
    if (n) qsort(spent, (size_t)n, sizeof *spent, dearest_first);
    w->sites.count = n < CALL_SITES ? n : CALL_SITES;
    if (n) memcpy(w->sites.site, spent, (size_t)w->sites.count * sizeof *spent);
    if (n && dladdr(find_counts(w->target.device), &plugin) && plugin.dli_fname) {
        const char *slash = strrchr(plugin.dli_fname, '/');
        snprintf(w->sites.module, sizeof w->sites.module, "%.*s", (int)sizeof w->sites.module - 1,
                 slash ? slash + 1 : plugin.dli_fname);
    }
    free(spent), free(now.site), free(before.site);
}

/* Whether the operations are somebody's to be judged; our own rungs may work as they like. */
static bool of_students;
void call_watch_work(void) { of_students = true; }

/* From here on it is noted who works on the arrays; false: nobody can tell. */
static bool watch(const call_wire *w, void *const block[CALL_BUFFERS]) {
    const hostcuda_counts *counts = find_counts(w->target.device);
    hostcuda_array array[CALL_BUFFERS];
    int n = 0;
    for (int i = 0; i < w->frames; i++) {
        bool output = w->outputs >> i & 1;
        if (!output && !(w->inputs >> i & 1)) continue;
        array[n++] = (hostcuda_array){(unsigned char *)block[i] + CALL_FENCE,
                                      w->frame_bytes[i] - 2 * CALL_FENCE, output};
    }
    return counts && of_students && w->op < CALL_tensor_new && counts->watch(array, n);
}

/* Until NULL kernels may touch the arrays alone, not the fences around them nor what the allocator
 * rounded up to: a read there changes no value and no fence. */
static void confine(const call_wire *w, void *const block[CALL_BUFFERS]) {
    const hostcuda_counts *counts = of_students ? find_counts(w->target.device) : NULL;
    hostcuda_array array[CALL_BUFFERS];
    for (int i = 0; block && i < w->frames; i++)
        array[i] = (hostcuda_array){(unsigned char *)block[i] + CALL_FENCE,
                                    w->frame_bytes[i] - 2 * CALL_FENCE, false};
    if (counts) counts->confine(array, block ? w->frames : 0);
}

static void read_work(call_wire *w) {
    hostcuda_work work;
    find_counts(w->target.device)->worked(&work);
    w->counter[CALL_STORERS] = (int64_t)work.storers;
    w->counter[CALL_LOADERS] = (int64_t)work.loaders;
    w->counter[CALL_CARRIED] = (int64_t)work.carried;
    w->counter[CALL_TO_HOST] = (int64_t)work.to_host;
    const hostcuda_launch *most = call_work_is_loading(w->op) ? &work.loading : &work.storing;
    snprintf(w->launch.kernel, sizeof w->launch.kernel, "%s", most->kernel ? most->kernel : "");
    memcpy(w->launch.grid, most->grid, sizeof most->grid);
    memcpy(w->launch.block, most->block, sizeof most->block);
}

/* The operation itself, whose host code may write to its own stack and variables alone. */
static __attribute__((noinline)) tl_status run_guarded(const call_row *row, tl_ctx *ctx,
                                                       call_arguments *arguments) {
    bool judged = of_students && row - call_rows < CALL_tensor_new;
    const hostcuda_counts *counts = judged ? find_counts(ctx->ops->name) : NULL;
    if (counts) counts->guard(__builtin_frame_address(0));
    tl_status status = row->run(ctx, arguments);
    if (counts) counts->guard(NULL);
    return status;
}

/* Arms the device's n-th launch from now on to fail; 0: none. */
static void fail_launch(const call_wire *w, int n) {
    const hostcuda_counts *counts = find_counts(w->target.device);
    if (counts && w->failing_launch > 0) counts->fail_launch((uint64_t)n);
}

/* Until NULL what is queued belongs in the context's stream: where launches are to fail on purpose
 * each operation is asked, once. */
static void keep_stream(const call_wire *w, const void *stream) {
    const hostcuda_counts *counts = find_counts(w->target.device);
    if (counts && w->target.launches_fail) counts->keep_stream(stream);
}

/* The operation, at once or recorded and then launched. */
static tl_status run_row(const call_row *row, tl_ctx *ctx, call_arguments *arguments,
                         bool recorded) {
    void *graph = NULL;
    if (!recorded || !ctx->ops->graph_begin) return run_guarded(row, ctx, arguments);
    TL_TRY(ctx->ops->graph_begin(ctx));
    tl_status status = run_guarded(row, ctx, arguments);
    if (status != TL_OK) {
        ctx->ops->graph_end(ctx, NULL); /* leaves no line of its own */
        return status;
    }
    TL_TRY(ctx->ops->graph_end(ctx, &graph));
    status = ctx->ops->graph_launch(ctx, graph);
    if (status == TL_OK) status = ctx->ops->sync(ctx);
    ctx->ops->graph_free(ctx, graph);
    return status;
}

/* What is no program: its steps are counted, too, on memory of the device that is nobody's but the
 * call's. */
static tl_status run_counted(const call_row *row, tl_ctx *view, tl_backend *ops, call_wire *w,
                             call_arguments *arguments) {
    const tl_backend device = *ops;
    int64_t before = call_host_blocks();
    call_host_forget();
    call_steps_table(ops);
    call_steps_begin(w, &device);
    tl_status status = run_row(row, view, arguments, w->target.recorded);
    call_steps_end();
    w->host_blocks = call_host_blocks() - before;
    if (w->host_blocks > 0) call_host_kept(w->kept);
    return status;
}

/* The operation on device copies of the frames. `block` receives what was allocated, for the caller
 * to give back, also after a failure. */
static tl_status run_on_device(tl_ctx *ctx, call_wire *w, void *block[CALL_BUFFERS]) {
    TL_NEED((unsigned)w->op < CALL_OPS && call_rows[w->op].run, TL_EINVAL,
            "there is no operation %d", (int)w->op);
    call_arguments arguments = {.bytes = w->arguments,
                                .integer = w->arguments,
                                .integers = w->argument_bytes / sizeof(int64_t)};
    for (int i = 0; i < w->frames; i++) {
        TL_TRY(tl_alloc_get(ctx->alloc, &block[i], w->frame_bytes[i]));
        TL_TRY(ctx->ops->copy_in(ctx, block[i], w->frame[i], w->frame_bytes[i]));
    }
    for (int i = 0; i < w->slots; i++) {
        int f = w->slot_frame[i];
        if (f < 0) continue;
        arguments.slot[i] = (unsigned char *)block[f] + CALL_FENCE;
        arguments.slot_bytes[i] = w->frame_bytes[f] - 2 * CALL_FENCE;
    }
    const call_row *row = &call_rows[w->op];
    TL_NEED(w->argument_bytes >= row->bytes, TL_EINVAL, "%s takes %zu bytes of arguments, got %zu",
            row->name, row->bytes, w->argument_bytes);
    /* the same device with another bound for columns: tests force chunks of one image with it */
    tl_backend ops = *ctx->ops;
    if (w->target.column_bytes) ops.column_bytes = w->target.column_bytes;
    tl_ctx view = *ctx;
    view.ops = &ops;
    int64_t before[CALL_COUNTERS] = {0};
    bool watched = watch(w, block);
    read_counters(w, before);
    site_list sites = read_sites(w);
    w->reached = true;
    confine(w, block);
    fail_launch(w, w->failing_launch);
    keep_stream(w, ctx->stream);
    tl_status status = call_is_fenced(w->op) ? call_run_fenced(row, &view, &arguments, w)
                                             : run_counted(row, &view, &ops, w, &arguments);
    char error[CALL_TEXT] = "";
    if (status != TL_OK) snprintf(error, sizeof error, "%s", tl_error());
    keep_stream(w, NULL);
    fail_launch(w, 0);
    tl_status done = ctx->ops->sync(ctx);
    confine(w, NULL);
    note_sites(w, sites);
    /* frames come back after a failure too: fences are judged then as well */
    TL_TRY(done);
    read_counters(w, w->counter);
    for (int i = 0; i < CALL_COUNTERS; i++)
        if (w->counter[i] >= 0) w->counter[i] -= before[i];
    if (watched) read_work(w);
    for (int i = 0; i < w->frames; i++)
        TL_TRY(ctx->ops->copy_out(ctx, w->frame[i], block[i], w->frame_bytes[i]));
    memcpy(w->error, error, sizeof error);
    w->status = status;
    return TL_OK;
}

tl_status call_open(const call_target *target) {
    tl_ctx *ctx;
    return find_context(&ctx, target);
}

void call_say_kept(const call_wire *w, const call_wire *good, char text[CALL_TEXT]) {
    (void)w, (void)good;
    text[0] = '\0';
}

void call_execute(call_wire *w) {
    tl_ctx *ctx = NULL;
    void *block[CALL_BUFFERS] = {NULL};
    size_t before = 0;
    w->status = TL_OK;
    w->reached = false;
    w->live_bytes = w->overrun = w->overrun_of = 0;
    w->steps = w->refused = w->refused_nth = w->host_blocks = w->bad_puts = 0;
    memset(w->kept, 0, sizeof w->kept);
    for (int i = 0; i < CALL_COUNTERS; i++) w->counter[i] = -1;
    memset(w->error, 0, sizeof w->error);
    memset(&w->sites, 0, sizeof w->sites);
    tl_status status = find_context(&ctx, &w->target);
    if (status == TL_OK) {
        before = tl_alloc_read_stats(ctx->alloc).live_bytes;
        status = run_on_device(ctx, w, block);
    }
    for (int i = 0; ctx && i < w->frames; i++) {
        tl_status put = tl_alloc_put(ctx->alloc, block[i]);
        if (status == TL_OK) status = put;
    }
    if (ctx) w->live_bytes = (int64_t)(tl_alloc_read_stats(ctx->alloc).live_bytes - before);
    if (status != TL_OK) { /* the call itself went wrong, not the operation */
        w->status = status;
        snprintf(w->error, sizeof w->error, "%s", tl_error());
    }
}

void call_close(call_report *report) {
    memset(report, 0, sizeof *report);
    for (int i = 0; i < contexts; i++) {
        report->live_blocks += tl_alloc_read_stats(context[i].ctx->alloc).live_blocks;
        tl_device_close(context[i].ctx);
    }
    contexts = 0;
}

/* Nothing to start or to end, and nothing to tell, within one process. */
void call_run_begin(void) {}
void call_run_end(void) {}

const call_evidence *call_evidence_now(void) {
    static const call_evidence none;
    return &none;
}

int call_costs_by_line(call_cost out[CALL_COSTS]) {
    (void)out;
    return 0;
}
