/* main_bench_ops.c: `bench_ops DEVICE=… THREADS=n RUNGS=…`: operations timed as another
 * program asks.
 *
 * baseline/bench_ops.py sends commands, one a line, and PyTorch's turn comes between two of them,
 * so that both sides alternate in one run. Answers on standard output are binary but for the first:
 *
 * - `origin`: a line of JSON, what this program is and where it runs.
 * - `op NAME NUMBERS`: an operation by its rows in tl/ops.def, with the numbers of its geometry. A
 *   line names the inputs that follow on standard input, and behind a > what is answered then: the
 *   results of one run (tl_real).
 * - `time PASS MODE COUNT INNER`: COUNT doubles, seconds per run of what was set last, each
 *   the mean of INNER runs that end with a synchronise. PASS is fwd or both, MODE eager or graph.
 * - `peak`: two doubles, FLOP/s of a large product and bytes/s of a large copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"
#include "ceilings.h"
#include "origin.h"
#include "patience.h"
#include "tl/status_internal.h"
#include "progress.h"
#include "run.h"
#include "tl/backend.h"
#include "tl/device.h"

static tl_status answer(const void *block, size_t size, size_t count) {
    TL_NEED(fwrite(block, size, count, stdout) == count && fflush(stdout) == 0, TL_EIO,
            "cannot write to standard output");
    return TL_OK;
}

/* The inputs, from standard input. */
static tl_status read_inputs(const bench *b) {
    for (int i = 0; i < b->arrays; i++) {
        const bench_array *a = &b->array[i];
        if (a->use != BENCH_INPUT) continue;
        void *host = malloc(a->bytes);
        TL_NEED(host, TL_ENOMEM, "no memory for %zu bytes", a->bytes);
        bool read = fread(host, 1, a->bytes, stdin) == a->bytes;
        tl_status status = TL_OK;
        if (read) status = b->ctx->ops->copy_in(b->ctx, a->block, host, a->bytes);
        free(host);
        TL_NEED(read, TL_EIO, "standard input ended within an array");
        TL_TRY(status);
    }
    return TL_OK;
}

static bool is_answer(const bench_array *a) {
    return a->use == BENCH_RESULT && a->element == BENCH_REAL;
}

static tl_status answer_results(const bench *b) {
    TL_TRY(bench_run(b, true));
    for (int i = 0; i < b->arrays; i++) {
        const bench_array *a = &b->array[i];
        if (!is_answer(a)) continue;
        void *host = malloc(a->bytes);
        TL_NEED(host, TL_ENOMEM, "no memory for %zu bytes", a->bytes);
        tl_status status = b->ctx->ops->copy_out(b->ctx, host, a->block, a->bytes);
        if (status == TL_OK) status = answer(host, 1, a->bytes);
        free(host);
        TL_TRY(status);
    }
    return TL_OK;
}

/* `op NAME NUMBERS`, and first what it takes and gives. */
static tl_status set_operation(bench *b, const char *line) {
    char name[64];
    int number[BENCH_NUMBERS], numbers = 0, at = 0, more = 0;
    TL_NEED(sscanf(line, "op %63s%n", name, &at) == 1, TL_EINVAL, "not of the form: op NAME …");
    for (line += at; numbers < BENCH_NUMBERS && sscanf(line, "%d%n", &number[numbers], &more) == 1;
         line += more)
        numbers++;
    TL_TRY(bench_set(b, name, number, numbers));
    for (int i = 0; i < b->arrays; i++)
        if (b->array[i].use == BENCH_INPUT) printf("%s ", b->array[i].name);
    printf(">");
    for (int i = 0; i < b->arrays; i++)
        if (is_answer(&b->array[i])) printf(" %s", b->array[i].name);
    TL_NEED(printf("\n") > 0 && fflush(stdout) == 0, TL_EIO, "cannot write to standard output");
    TL_TRY(read_inputs(b));
    return answer_results(b);
}

static tl_status queue(const bench *b, bool both, int times) {
    for (int i = 0; i < times; i++) TL_TRY(bench_run(b, both));
    return TL_OK;
}

/* *seconds of one run: the mean of `inner` runs, from queueing the first until all are done. */
static tl_status sample(bench *b, bool both, void *graph, int inner, double *seconds) {
    const tl_backend *ops = b->ctx->ops;
    TL_TRY(ops->sync(b->ctx));
    double begin = now_seconds();
    TL_TRY(graph ? ops->graph_launch(b->ctx, graph) : queue(b, both, inner));
    TL_TRY(ops->sync(b->ctx));
    *seconds = (now_seconds() - begin) / inner;
    return TL_OK;
}

static tl_status record(bench *b, bool both, int inner, void **graph) {
    const tl_backend *ops = b->ctx->ops;
    TL_NEED(ops->graph_begin, TL_EINVAL, "device %s has no graphs", ops->name);
    TL_TRY(ops->graph_begin(b->ctx));
    tl_status status = queue(b, both, inner);
    if (status != TL_OK) {
        ops->graph_end(b->ctx, NULL); /* the first failure is the one to report */
        return status;
    }
    return ops->graph_end(b->ctx, graph);
}

static tl_status answer_times(bench *b, const char *line) {
    char pass[8], mode[8];
    int count, inner;
    TL_NEED(sscanf(line, "time %7s %7s %d %d", pass, mode, &count, &inner) == 4 && count > 0 &&
                inner > 0,
            TL_EINVAL, "not of the form: time PASS MODE COUNT INNER");
    TL_NEED(b->rows > 0, TL_EINVAL, "time comes after op");
    bool both = strcmp(pass, "both") == 0;
    void *graph = NULL;
    if (strcmp(mode, "graph") == 0) TL_TRY(record(b, both, inner, &graph));
    tl_status status = TL_OK;
    for (int i = 0; i < count && status == TL_OK; i++) {
        double seconds;
        status = sample(b, both, graph, inner, &seconds);
        if (status == TL_OK) status = answer(&seconds, sizeof seconds, 1);
    }
    if (graph) b->ctx->ops->graph_free(b->ctx, graph);
    return status;
}

static tl_status answer_peak(tl_ctx *ctx) {
    ceilings best;
    TL_TRY(ceilings_measure(&best, ctx));
    return answer(&best, sizeof best, 1);
}

static tl_status answer_origin(const bench *b, const options *o) {
    jsonl j = {.file = stdout, .path = "standard output"};
    origin from = {.program = "bench_ops",
                   .ctx = b->ctx,
                   .dataset = "random",
                   .rungs = o->rungs,
                   .seed = o->seed};
    origin_begin(&j, "run", &from);
    return jsonl_end(&j);
}

static tl_status serve(bench *b, const options *o) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "time ", 5) == 0) {
            TL_TRY(answer_times(b, line));
        } else if (strcmp(line, "origin\n") == 0) {
            TL_TRY(answer_origin(b, o));
        } else if (strcmp(line, "peak\n") == 0) {
            TL_TRY(answer_peak(b->ctx));
        } else {
            TL_NEED(strncmp(line, "op ", 3) == 0, TL_EINVAL, "unknown command: %s", line);
            TL_TRY(set_operation(b, line));
        }
    }
    return TL_OK;
}

int main(int argc, char **argv) {
    wait_patiently(argv);
    options o;
    bench b = {0};
    tl_status status = options_parse(&o, argc - 1, argv + 1);
    if (status == TL_OK) status = tl_device_open(&b.ctx, o.device, o.rungs, (int)o.threads);
    if (status == TL_OK) status = serve(&b, &o);
    status = tl_root_cause(status);
    if (status != TL_OK) fprintf(stderr, "bench_ops: %s\n", tl_error());
    if (b.ctx) bench_clear(&b);
    tl_device_close(b.ctx);
    return status == TL_OK ? 0 : 1;
}
