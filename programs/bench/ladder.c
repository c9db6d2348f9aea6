/* ladder.c: the rungs of a device (ladder.h). */
#include "ladder.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rungs.h"
#include "tl/device.h"
#include "tl/rungs_apply.h"

const char *const bench_cache_names[CACHES] = {"warm", "cold"};

/* The rows of rungs.def; those of the CUDA devices stand in their plug-ins, too. */
static const struct {
    bool cpu;
    const char *name, *number;
    tl_precision precision;
    int since, until; /* compute capabilities that have it; 0: of no matter */
} known[] = {
#define RUNG_CPU(op, number, function) {true, #op ":" #number, #number, TL_FP32, 0, 0},
#define RUNG_CUDA(op, number, function, since, type)                                               \
    {false, #op ":" #number, #number, TL_##type, since, 0},
#define STEP_CPU                             RUNG_CPU
#define STEP_CUDA                            RUNG_CUDA
#define STEP_90A(op, number, function, type) {false, #op ":" #number, #number, TL_##type, 90, 90},
#include "kernels/rungs.def"
};
enum { KNOWN = sizeof known / sizeof *known };

/* ---- which ---- */

/* Whether a word of the list "a,b" is the name, or its number alone. */
static bool listed(const char *list, const char *name, const char *number) {
    if (strcmp(list, "all") == 0) return true;
    for (const char *word = list; *word;) {
        size_t length = strcspn(word, ",");
        if ((strlen(name) == length && strncmp(word, name, length) == 0) ||
            (strlen(number) == length && strncmp(word, number, length) == 0))
            return true;
        word += length + (word[length] == ',');
    }
    return false;
}

bool ladder_wants(const char *list, const char *name) { return listed(list, name, name); }

/* Each word of RUNG= must be one of the device's. */
static tl_status check_wanted(const char *wanted, bool cpu) {
    char names[1024] = "0, mine";
    for (int i = 0; i < KNOWN; i++) {
        size_t used = strlen(names);
        if (known[i].cpu == cpu) snprintf(names + used, sizeof names - used, ", %s", known[i].name);
    }
    for (const char *word = wanted; *word && strcmp(wanted, "all") != 0;) {
        char one[RUNG_NAME];
        size_t length = strcspn(word, ",");
        snprintf(one, sizeof one, "%.*s", (int)length, word);
        bool found = listed("0,mine", one, one);
        for (int i = 0; i < KNOWN && !found; i++)
            found = known[i].cpu == cpu && listed(one, known[i].name, known[i].number);
        TL_NEED(found, TL_EINVAL, "RUNG=%s: no such rung of this device; all, or some of %s", one,
                names);
        word += length + (word[length] == ',');
    }
    return TL_OK;
}

/* ---- contexts ---- */

static tl_status add_rung(ladder *l, const char *device, const char *name, const char *rungs,
                          int threads, tl_precision precision) {
    TL_NEED(l->rungs < RUNGS_MOST, TL_EINVAL, "more than %d rungs", RUNGS_MOST);
    bench_rung *r = &l->rung[l->rungs];
    snprintf(r->name, sizeof r->name, "%s", name);
    const tl_device_options options = {.rungs = rungs, .threads = threads};
    TL_TRY(tl_device_open_in(&r->ctx, device, &options, precision));
    r->b.ctx = r->ctx;
    r->stored = r->ctx->ops->stored_gemm;
    l->rungs++;
    return TL_OK;
}

/* The library in another precision: once, before the first rung that computes in it. */
static tl_status add_library(ladder *l, const char *device, int threads, tl_precision precision) {
    if (precision == TL_TF32X3) return TL_OK; /* which has no library: float's stands beside it */
    for (int i = 0; i < l->rungs; i++)
        if (l->rung[i].ctx->ops->precision == precision) return TL_OK;
    TL_TRY(add_rung(l, device, "0", "gemm:0", threads, precision));
    l->rung[l->rungs - 1].library = true;
    return TL_OK;
}

/* Of each precision in which a rung 0 computes; float's may be known. */
static tl_status measure_ceilings(ladder *l, const ceilings *known_most) {
    for (int i = 0; i < l->rungs; i++) {
        tl_ctx *ctx = l->rung[i].ctx;
        tl_precision precision = ctx->ops->precision;
        if (i > 0 && !l->rung[i].library) continue;
        if (i == 0 && known_most->flops > 0)
            l->most[precision] = *known_most;
        else
            TL_TRY(ceilings_measure(&l->most[precision], ctx));
    }
    return TL_OK;
}

tl_status ladder_open(ladder *l, const char *device, int threads, const char *wanted,
                      const ceilings *known_most) {
    bool students = !rung_table[0].device;
    /* cuBLAS's own choice, where a context has 2 MiB: it is a fifth quicker in TF32. */
    TL_NEED(setenv("CUBLAS_WORKSPACE_CONFIG", ":32768:1", 0) == 0, TL_ENOMEM, "no memory");
    TL_TRY(add_rung(l, device, students ? "mine" : "0", "none", threads, TL_FP32));
    tl_ctx *ctx = l->rung[0].ctx;
    const char *opened = ctx->ops->name; /* of auto */
    bool cpu = strcmp(opened, "cpu") == 0;
    l->counts = strcmp(opened, "hostcuda") == 0;
    TL_TRY(check_wanted(wanted, cpu));
    for (int i = 0; i < KNOWN && !students; i++) {
        if (known[i].cpu != cpu || !listed(wanted, known[i].name, known[i].number)) continue;
        if (strcmp(known[i].number, "0") == 0) continue; /* add_library knows when */
        /* another GPU is asked for what it has; a rung that was named says itself what it needs */
        int capability = ctx->ops->capability;
        bool lacks = (capability && capability < known[i].since) ||
                     (known[i].until && capability != known[i].until);
        if (lacks && strcmp(wanted, "all") == 0) continue;
        TL_TRY(add_library(l, opened, threads, known[i].precision));
        TL_TRY(add_rung(l, opened, known[i].name, known[i].name, threads, known[i].precision));
    }
    if (l->counts) return TL_OK;
    size_t cache = ctx->ops->cache_bytes;
    TL_NEED(cache > 0, TL_EDEVICE, "%s does not say how large its last cache is", opened);
    l->cold_bytes = cache + cache / 4;
    TL_TRY(tl_alloc_get(ctx->alloc, &l->cold_block, l->cold_bytes));
    return measure_ceilings(l, known_most);
}

void ladder_close(ladder *l) {
    if (l->cold_block) tl_alloc_put(l->rung[0].ctx->alloc, l->cold_block);
    for (int i = 0; i < l->rungs; i++) tl_device_close(l->rung[i].ctx);
    *l = (ladder){0};
}

/* ---- one operation at one shape ---- */

static const struct {
    const char *row;
    size_t offset;
} entries[] = {
#define OP(op, ...) {#op, offsetof(tl_backend, op)},
#define OP_FUSED    OP
#include "tl/ops.def"
};

/* Whether b's device has another function for the row than a's. */
static bool replaces(const tl_backend *a, const tl_backend *b, const char *row) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].row, row) == 0)
            return memcmp((const char *)a + entries[i].offset, (const char *)b + entries[i].offset,
                          sizeof(void (*)(void))) != 0;
    return false;
}

/* Arguments in the order of gemm's row. */
static tl_status run_stored(tl_ctx *ctx, void *const *argument) {
    return ctx->ops->stored_gemm(ctx, argument[0], argument[1], argument[2], argument[3],
                                 ctx->ops->precision);
}

/* Of stored operands there is a product alone. */
static tl_status set_stored(bench_rung *r, const bench_case *which, const bench_shape *shape) {
    r->taking_part = strcmp(which->row, "gemm") == 0;
    if (!r->taking_part) return TL_OK;
    TL_TRY(bench_set(&r->b, which->row, shape->number, shape->numbers));
    r->b.row[0].run = run_stored;
    return TL_OK;
}

tl_status ladder_set(ladder *l, const bench_case *which, const bench_shape *shape) {
    for (int i = 0; i < l->rungs; i++) {
        bench_rung *r = &l->rung[i];
        r->wrong = false;
        r->error_of_bound = 0;
        if (r->stored) {
            TL_TRY(set_stored(r, which, shape));
            continue;
        }
        const tl_backend *ops = r->ctx->ops;
        const tl_backend *below = ops->rounding ? ops->rounding : l->rung[0].ctx->ops;
        r->taking_part = i == 0 || replaces(below, ops, which->row);
        if (r->taking_part) TL_TRY(bench_set(&r->b, which->row, shape->number, shape->numbers));
        r->taking_part = r->taking_part && bench_there(&r->b);
    }
    return TL_OK;
}

void ladder_clear(ladder *l) {
    for (int i = 0; i < l->rungs; i++)
        if (l->rung[i].b.rows) bench_clear(&l->rung[i].b);
}

static bool takes_part(const bench_rung *r, tl_precision precision) {
    return r->taking_part && r->ctx->ops->precision == precision;
}

/* ... of the question's precision. */
static tl_status ask_all(ladder *l, const question *q, const bench_case *which,
                         const bench_shape *shape, bool *all_right) {
    for (int i = 0; i < l->rungs; i++) {
        bench_rung *r = &l->rung[i];
        char wrong[WRONG_TEXT];
        if (!takes_part(r, q->precision)) continue;
        tl_status status = question_ask(q, &r->b, r->stored, wrong, &r->error_of_bound);
        if (status == TL_ENOTIMPL && r->stored) { /* no shape for it */
            r->taking_part = false;
            continue;
        }
        TL_TRY(status);
        if (!wrong[0]) continue;
        bool library = r->library;
        fprintf(stderr, "bench: %s %s: rung %s%s%s is wrong and is not timed: %s\n", which->row,
                shape->name, r->name, library ? " in " : "",
                library ? tl_precision_name(q->precision) : "", wrong);
        r->taking_part = *all_right = false;
        r->wrong = true;
    }
    return TL_OK;
}

/* (the numbers that are timed come last: they stay in the arrays) */
tl_status ladder_ask(ladder *l, const bench_case *which, const bench_shape *shape, uint64_t seed,
                     bool *all_right) {
    for (int p = TL_FP32; p < TL_PRECISIONS; p++)
        for (int whole = which->sums; whole >= 0; whole--) {
            question q;
            bool asked = false;
            for (int i = 0; i < l->rungs; i++) asked |= takes_part(&l->rung[i], (tl_precision)p);
            if (!asked) continue;
            TL_TRY(question_make(&q, which, &l->rung[0].b, whole, seed, (tl_precision)p));
            tl_status status = ask_all(l, &q, which, shape, all_right);
            question_free(&q);
            TL_TRY(status);
        }
    return TL_OK;
}

double ladder_floor(const ladder *l, const bench *b) {
    const ceilings *most = &l->most[b->ctx->ops->precision];
    if (most->flops == 0) return 0;
    double compute = b->row[0].flops / most->flops, move = b->row[0].bytes / most->bytes;
    return compute > move ? compute : move;
}
