/* main_bench_ops.c: `bench_ops DEVICE=… THREADS=n RUNGS=…`: operations timed at another program's
 * beck.
 *
 * baseline/bench_ops.py sends commands, one a line, and PyTorch's turn comes between two of them,
 * so that both sides alternate in one run. Answers on standard output are binary but for the first:
 *
 * - `origin`: a line of JSON, what this program is and where it runs.
 * - `conv2d n c k h` (3x3, pad 1, h x h pixels) and `linear n in out`: x, w, b, dy follow on
 *   standard input; the answer is y, dx, dw, db (tl_real) of one run.
 * - `time PASS MODE COUNT INNER`: COUNT doubles, seconds per run of what was set last, each the
 * mean of INNER runs that end with a synchronise. PASS is fwd or both, MODE eager or graph.
 * - `peak`: two doubles, FLOP/s of a large product and bytes/s of a large copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"
#include "patience.h"
#include "tl/status_internal.h"
#include "progress.h"
#include "run.h"
#include "tl/backend.h"
#include "tl/device.h"

enum { X, W, B, DY, Y, DX, DW, DB, ARRAYS, INPUTS = Y };

/* One operation with everything it works on; `linear` or a convolution. */
typedef struct bench {
    tl_ctx *ctx;
    bool linear;
    tl_conv2d_geom conv;
    tl_linear_geom flat;
    tl_real *array[ARRAYS];
    size_t size[ARRAYS];
    void *work;
} bench;

static void bench_clear(bench *b) {
    for (int i = 0; i < ARRAYS; i++) tl_alloc_put(b->ctx->alloc, b->array[i]);
    tl_alloc_put(b->ctx->alloc, b->work);
    memset(b->array, 0, sizeof b->array);
    b->work = NULL;
}

/* Memory for all arrays; inputs come from standard input. */
static tl_status bench_fill(bench *b, size_t work_bytes) {
    void *block;
    TL_TRY(tl_alloc_get(b->ctx->alloc, &b->work, work_bytes));
    for (int i = 0; i < ARRAYS; i++) {
        TL_TRY(tl_alloc_get(b->ctx->alloc, &block, b->size[i] * sizeof(tl_real)));
        b->array[i] = block;
        if (i >= INPUTS) continue;
        tl_real *host = malloc(b->size[i] * sizeof *host);
        TL_NEED(host, TL_ENOMEM, "no memory for %zu numbers", b->size[i]);
        bool read = fread(host, sizeof *host, b->size[i], stdin) == b->size[i];
        tl_status status = TL_OK;
        if (read) status = b->ctx->ops->copy_in(b->ctx, block, host, b->size[i] * sizeof *host);
        free(host);
        TL_NEED(read, TL_EIO, "standard input ended within an array");
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status forward(bench *b) {
    const tl_backend *ops = b->ctx->ops;
    tl_real **a = b->array;
    if (b->linear) return ops->linear_fwd(b->ctx, a[Y], a[X], a[W], a[B], &b->flat);
    return ops->conv2d_fwd(b->ctx, a[Y], a[X], a[W], a[B], &b->conv, b->work);
}

/* Gradients start from zero, as PyTorch's do: that is part of the work. */
static tl_status backward(bench *b) {
    const tl_backend *ops = b->ctx->ops;
    tl_real **a = b->array;
    for (int i = DX; i <= DB; i++) TL_TRY(ops->zero(b->ctx, a[i], b->size[i] * sizeof(tl_real)));
    if (b->linear) {
        TL_TRY(ops->linear_bwd_input(b->ctx, a[DX], a[DY], a[W], &b->flat));
        TL_TRY(ops->linear_bwd_weight(b->ctx, a[DW], a[DY], a[X], &b->flat));
        return ops->linear_bwd_bias(b->ctx, a[DB], a[DY], &b->flat);
    }
    TL_TRY(ops->conv2d_bwd_input(b->ctx, a[DX], a[DY], a[W], &b->conv, b->work));
    TL_TRY(ops->conv2d_bwd_weight(b->ctx, a[DW], a[DY], a[X], &b->conv, b->work));
    return ops->conv2d_bwd_bias(b->ctx, a[DB], a[DY], &b->conv);
}

static tl_status queue(bench *b, bool both, int times) {
    for (int i = 0; i < times; i++) {
        TL_TRY(forward(b));
        if (both) TL_TRY(backward(b));
    }
    return TL_OK;
}

static tl_status answer(const void *block, size_t size, size_t count) {
    TL_NEED(fwrite(block, size, count, stdout) == count && fflush(stdout) == 0, TL_EIO,
            "cannot write to standard output");
    return TL_OK;
}

static tl_status answer_results(bench *b) {
    TL_TRY(queue(b, true, 1));
    for (int i = Y; i < ARRAYS; i++) {
        tl_real *host = malloc(b->size[i] * sizeof *host);
        TL_NEED(host, TL_ENOMEM, "no memory for %zu numbers", b->size[i]);
        tl_status status =
            b->ctx->ops->copy_out(b->ctx, host, b->array[i], b->size[i] * sizeof *host);
        if (status == TL_OK) status = answer(host, sizeof *host, b->size[i]);
        free(host);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status set_conv2d(bench *b, const char *line) {
    tl_conv2d_geom *g = &b->conv;
    *g = (tl_conv2d_geom){.r = 3,
                          .s = 3,
                          .stride_h = 1,
                          .stride_w = 1,
                          .pad_h = 1,
                          .pad_w = 1,
                          .dil_h = 1,
                          .dil_w = 1};
    TL_NEED(sscanf(line, "conv2d %d %d %d %d", &g->n, &g->c, &g->k, &g->h) == 4, TL_EINVAL,
            "not of the form: conv2d n c k h");
    g->w = g->h;
    TL_TRY(tl_conv2d_check(g));
    b->linear = false;
    b->size[X] = b->size[DX] = tl_conv2d_x_size(g);
    b->size[W] = b->size[DW] = tl_conv2d_w_size(g);
    b->size[B] = b->size[DB] = (size_t)g->k;
    b->size[Y] = b->size[DY] = tl_conv2d_y_size(g);
    TL_TRY(bench_fill(b, tl_conv2d_work_bytes(g, b->ctx->ops->column_bytes)));
    return answer_results(b);
}

static tl_status set_linear(bench *b, const char *line) {
    tl_linear_geom *g = &b->flat;
    TL_NEED(sscanf(line, "linear %d %d %d", &g->n, &g->in, &g->out) == 3, TL_EINVAL,
            "not of the form: linear n in out");
    TL_TRY(tl_linear_check(g));
    b->linear = true;
    size_t n = (size_t)g->n, in = (size_t)g->in, out = (size_t)g->out;
    b->size[X] = b->size[DX] = n * in;
    b->size[W] = b->size[DW] = out * in;
    b->size[B] = b->size[DB] = out;
    b->size[Y] = b->size[DY] = n * out;
    TL_TRY(bench_fill(b, 0));
    return answer_results(b);
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
    TL_NEED(b->work, TL_EINVAL, "time comes after conv2d or linear");
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

/* The best of some runs: a ceiling is what can be reached, not what is usual. */
static tl_status answer_peak(tl_ctx *ctx) {
    enum { SIDE_CPU = 1536, SIDE_GPU = 8192, RUNS = 8 };
    const tl_backend *ops = ctx->ops;
    int side = strcmp(ops->name, "cuda") == 0 ? SIDE_GPU : SIDE_CPU;
    tl_matmul_geom g = {.m = side, .n = side, .k = side};
    size_t bytes = (size_t)side * (size_t)side * sizeof(tl_real);
    void *a[3] = {NULL, NULL, NULL};
    double best[2] = {0, 0}, flops = 2.0 * side * (double)side * side;
    tl_status status = TL_OK;
    for (int i = 0; i < 3 && status == TL_OK; i++) {
        status = tl_alloc_get(ctx->alloc, &a[i], bytes);
        if (status == TL_OK) status = ops->fill(ctx, a[i], bytes / sizeof(tl_real), TL_R(0.5));
    }
    for (int i = 0; i < 2 * RUNS && status == TL_OK; i++) {
        status = ops->sync(ctx);
        double begin = now_seconds();
        if (status == TL_OK)
            status =
                i % 2 ? ops->gemm(ctx, a[0], a[1], a[2], &g) : ops->copy(ctx, a[0], a[1], bytes);
        if (status == TL_OK) status = ops->sync(ctx);
        /* a copy reads and writes every byte */
        double rate = (i % 2 ? flops : 2.0 * (double)bytes) / (now_seconds() - begin);
        if (rate > best[1 - i % 2]) best[1 - i % 2] = rate;
    }
    for (int i = 0; i < 3; i++) tl_alloc_put(ctx->alloc, a[i]);
    TL_TRY(status);
    return answer(best, sizeof *best, 2);
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
            bench_clear(b);
            bool linear = strncmp(line, "linear ", 7) == 0;
            TL_NEED(linear || strncmp(line, "conv2d ", 7) == 0, TL_EINVAL, "unknown command: %s",
                    line);
            TL_TRY(linear ? set_linear(b, line) : set_conv2d(b, line));
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
