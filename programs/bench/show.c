/* show.c: tables and results of a ladder (show.h). */
#include "show.h"

#include <stdio.h>
#include <string.h>

#include "programs/origin.h"

void show_heading(const ladder *l, const shown *s) {
    const bench_row *row = &l->rung[0].b.row[0];
    printf("\n%s %s:", s->which->row, s->shape->name);
    for (int i = 0; i < s->shape->numbers; i++) printf(" %d", s->shape->number[i]);
    printf("; %.4g MFLOP, %.4g MB\n", 1e-6 * row->flops, 1e-6 * row->bytes);
    if (l->counts)
        printf("%-13s %9s %14s %14s\n", "rung", "launches", "sectors", "bank waits");
    else
        printf("%-13s %-4s %10s  %-18s %8s %7s %6s %6s\n", "rung", "", "median us", "(quartiles)",
               "GFLOP/s", "GB/s", "of 0", "limit");
}

static void begin_line(const shown *s, const bench_rung *r, const char *kind) {
    const bench_row *row = &r->b.row[0];
    double numbers[BENCH_NUMBERS];
    origin from = {
        .program = "bench", .ctx = r->ctx, .dataset = "random", .rungs = r->name, .seed = s->seed};
    for (int i = 0; i < s->shape->numbers; i++) numbers[i] = s->shape->number[i];
    origin_begin(s->out, kind, &from);
    char command[160];
    snprintf(command, sizeof command, "make bench OP=%s SHAPE=%s DEVICE=%s%s", s->which->row,
             s->shape->name, r->ctx->ops->name, strcmp(r->name, "mine") == 0 ? " MINE=1" : "");
    jsonl_text(s->out, "command", command);
    jsonl_text(s->out, "op", s->which->row);
    jsonl_text(s->out, "family", s->which->family);
    jsonl_text(s->out, "shape", s->shape->name);
    jsonl_numbers(s->out, "numbers", numbers, s->shape->numbers);
    jsonl_text(s->out, "rung", r->name);
    jsonl_text(s->out, "precision", tl_precision_name(r->ctx->ops->precision));
    jsonl_number(s->out, "flops", row->flops);
    jsonl_number(s->out, "bytes", row->bytes);
    jsonl_number(s->out, "error_of_bound", r->error_of_bound);
}

/* The rung, and of another precision than float's which. */
static void name_of(const bench_rung *r, char *name, size_t size) {
    tl_precision precision = r->ctx->ops->precision;
    snprintf(name, size, "%s%s%s", r->name, precision == TL_FP32 ? "" : " ",
             precision == TL_FP32 ? "" : tl_precision_name(precision));
}

static tl_status show_time(const ladder *l, const shown *s, const bench_rung *r, int cache) {
    const bench_row *row = &r->b.row[0];
    quartiles t = r->time[cache];
    double of_0 = s->base[cache] / t.median, limit = ladder_floor(l, &r->b) / t.median;
    tl_precision precision = r->ctx->ops->precision;
    double library = s->library[precision][cache];
    bool fused = s->base[cache] == 0;
    char middle[32], beside[16], of_limit[16], name[RUNG_NAME + 8];
    name_of(r, name, sizeof name);
    snprintf(middle, sizeof middle, "(%.1f-%.1f)", 1e6 * t.low, 1e6 * t.high);
    snprintf(of_limit, sizeof of_limit, limit > 0 ? "%.0f%%" : "-", 100 * limit);
    snprintf(beside, sizeof beside, fused ? "-" : "%.2fx", of_0);
    printf("%-13s %-4s %10.1f  %-18s %8.1f %7.1f %6s %6s\n", name, bench_cache_names[cache],
           1e6 * t.median, middle, 1e-9 * row->flops / t.median, 1e-9 * row->bytes / t.median,
           beside, of_limit);
    begin_line(s, r, fused ? "ladder_fused" : precision == TL_FP32 ? "ladder" : "ladder_rounded");
    jsonl_text(s->out, "cache", bench_cache_names[cache]);
    jsonl_text(s->out, "unit", "s");
    jsonl_number(s->out, "median", t.median);
    jsonl_numbers(s->out, "quartiles", (double[]){t.low, t.high}, 2);
    jsonl_numbers(s->out, "samples", r->sample[cache], l->samples);
    if (!fused) jsonl_number(s->out, "of_rung_0", of_0);
    if (library > 0) jsonl_number(s->out, "of_library", library / t.median);
    if (limit > 0) jsonl_number(s->out, "of_ceiling", limit);
    jsonl_number(s->out, "peak_flops_per_s", l->most[precision].flops);
    jsonl_number(s->out, "peak_bytes_per_s", l->most[precision].bytes);
    jsonl_whole(s->out, "cold_bytes", l->cold_bytes);
    return jsonl_end(s->out);
}

static tl_status show_counts(const shown *s, const bench_rung *r) {
    char name[RUNG_NAME + 8];
    name_of(r, name, sizeof name);
    printf("%-13s %9llu %14llu %14llu\n", name, (unsigned long long)r->launches,
           (unsigned long long)r->sectors, (unsigned long long)r->conflicts);
    begin_line(s, r, "ladder_counts");
    jsonl_whole(s->out, "launches", r->launches);
    jsonl_whole(s->out, "sectors", r->sectors);
    jsonl_whole(s->out, "bank_conflicts", r->conflicts);
    return jsonl_end(s->out);
}

tl_status show_rungs(const ladder *l, const shown *s) {
    for (int i = 0; i < l->rungs; i++) {
        const bench_rung *r = &l->rung[i];
        if (!r->taking_part) continue;
        for (int cache = 0; cache < CACHES && !l->counts; cache++)
            TL_TRY(show_time(l, s, r, cache));
        if (l->counts) TL_TRY(show_counts(s, r));
    }
    TL_NEED(fflush(stdout) == 0, TL_EIO, "cannot write to standard output");
    return TL_OK;
}
