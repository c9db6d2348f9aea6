/* main_bench.c: `bench OP=… RUNG=… SHAPE=… DEVICE=…`: the ladder, each rung checked and then timed.
 *
 * The rungs of one device take turns in one run, so that their ratios hold on a machine whose clock
 * wanders. A rung that the oracle finds wrong is named and not timed, and the exit status says so.
 * A student's kernels are another program, started for each case: it is told what rung 0 took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "programs/patience.h"
#include "programs/run.h"
#include "programs/words.h"
#include "show.h"
#include "tl/device.h"
#include "tl/folder.h"
#include "tl/status_internal.h"

typedef struct options_of_bench {
    const char *op, *rung, *shape, *device, *out, *mine, *beside;
    long threads, samples;
    uint64_t seed;
} options_of_bench;

static const word_row table[] = {
#define OPTION(name, type, field, least, most, who, help)                                          \
    {#name, WORD_##type, offsetof(options_of_bench, field), least, most, help},
#include "options.def"
    {0}};

/* ---- which cases ---- */

/* Whether a word of the list "a,b" is the name, or what it begins with up to a _. */
static bool listed(const char *list, const char *name) {
    if (strcmp(list, "all") == 0) return true;
    for (const char *word = list; *word;) {
        size_t length = strcspn(word, ",");
        if (length && strncmp(word, name, length) == 0 &&
            (name[length] == '\0' || name[length] == '_'))
            return true;
        word += length + (word[length] == ',');
    }
    return false;
}

static bool shape_listed(const char *list, const bench_shape *s) {
    size_t length = strlen(s->name);
    for (const char *word = list; *word;) {
        size_t size = strcspn(word, ",");
        if (size == length && strncmp(word, s->name, length) == 0) return true;
        word += size + (word[size] == ',');
    }
    return false;
}

/* hostcuda counts the accesses of every thread: what takes a GPU microseconds takes it minutes. */
static bool shape_wanted(const options_of_bench *o, const ladder *l, const bench_shape *s) {
    if (strcmp(o->shape, "all") != 0) return shape_listed(o->shape, s);
    bool gpu = l->rung[0].ctx->ops->mark && !l->counts;
    if (l->counts) return shape_listed("small,odd,deep", s);
    return gpu || !s->gpu_alone;
}

/* Each word of OP= and SHAPE= must mean something. */
static tl_status check_word(const char *option, const char *word, const char *known, bool found) {
    TL_NEED(found, TL_EINVAL, "%s=%s: unknown; all, or some of: %s", option, word, known);
    return TL_OK;
}

static tl_status check_ops(const char *list) {
    char known[1024] = "", one[64];
    for (const bench_case *c = bench_cases; c->row; c++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", c->row);
    }
    for (const char *word = list; *word;) {
        size_t length = strcspn(word, ",");
        bool found = false;
        snprintf(one, sizeof one, "%.*s", (int)length, word);
        for (const bench_case *c = bench_cases; c->row; c++) found |= listed(one, c->row);
        TL_TRY(check_word("OP", one, known, found));
        word += length + (word[length] == ',');
    }
    return TL_OK;
}

/* A shape that none of the chosen operations has is a mistake, too. */
static tl_status check_shapes(const options_of_bench *o) {
    char known[512] = "", one[64];
    for (const bench_case *c = bench_cases; c->row; c++)
        for (const bench_shape *s = bench_shapes; s->name && listed(o->op, c->row); s++) {
            size_t used = strlen(known);
            snprintf(one, sizeof one, " %s,", s->name);
            if (strcmp(s->family, c->family) == 0 && !strstr(known, one))
                snprintf(known + used, sizeof known - used, "%s", one);
        }
    if (*known) known[strlen(known) - 1] = '\0';
    for (const char *word = o->shape; *word && strcmp(o->shape, "all") != 0;) {
        size_t length = strcspn(word, ",");
        bool found = false;
        snprintf(one, sizeof one, "%.*s", (int)length, word);
        for (const bench_case *c = bench_cases; c->row; c++)
            for (const bench_shape *s = bench_shapes; s->name; s++)
                found |= listed(o->op, c->row) && strcmp(s->family, c->family) == 0 &&
                         strcmp(s->name, one) == 0;
        TL_TRY(check_word("SHAPE", one, known + 1, found));
        word += length + (word[length] == ',');
    }
    return TL_OK;
}

/* ---- a student's rung ---- */

static tl_status run_mine(const options_of_bench *o, const ladder *l, const shown *s,
                          bool *all_right) {
    char word[9][512];
    char *argv[11] = {(char *)o->mine};
    const char *device = l->rung[0].ctx->ops->name;
    int n = 0;
    snprintf(word[n++], sizeof *word, "OP=%s", s->which->row);
    snprintf(word[n++], sizeof *word, "SHAPE=%s", s->shape->name);
    snprintf(word[n++], sizeof *word, "DEVICE=%s", device);
    snprintf(word[n++], sizeof *word, "THREADS=%ld", o->threads);
    snprintf(word[n++], sizeof *word, "SAMPLES=%ld", o->samples);
    snprintf(word[n++], sizeof *word, "SEED=%llu", (unsigned long long)o->seed);
    snprintf(word[n++], sizeof *word, "OUT=%s", o->out);
    snprintf(word[n++], sizeof *word, "BESIDE=%.17g,%.17g,%.17g,%.17g", s->base[WARM],
             s->base[COLD], l->most[TL_FP32].flops, l->most[TL_FP32].bytes);
    for (int i = 0; i < n; i++) argv[i + 1] = word[i];
    fflush(stdout);
    pid_t child = fork();
    TL_NEED(child >= 0, TL_ENOMEM, "cannot start %s", o->mine);
    if (child == 0) {
        execv(o->mine, argv);
        perror(o->mine);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) *all_right = false;
    if (WIFSIGNALED(status))
        fprintf(stderr, "bench: %s %s: rung mine was ended by signal %d\n", s->which->row,
                s->shape->name, WTERMSIG(status));
    return TL_OK;
}

/* ---- all cases ---- */

/* Rung 0's part: its medians, or those that the caller was told. */
static tl_status set_base(const options_of_bench *o, const ladder *l, shown *s) {
    double flops, bytes;
    const bench_rung *first = &l->rung[0];
    if (o->beside) {
        TL_NEED(sscanf(o->beside, "%lf,%lf,%lf,%lf", &s->base[WARM], &s->base[COLD], &flops,
                       &bytes) == 4,
                TL_EINVAL, "BESIDE=%s: four numbers are needed", o->beside);
        return TL_OK;
    }
    for (int cache = 0; cache < CACHES && first->taking_part; cache++)
        s->base[cache] = first->time[cache].median;
    for (int i = 1; i < l->rungs; i++) {
        const bench_rung *r = &l->rung[i];
        for (int cache = 0; cache < CACHES && r->library && r->taking_part; cache++)
            s->library[r->ctx->ops->precision][cache] = r->time[cache].median;
    }
    return TL_OK;
}

static tl_status run_case(const options_of_bench *o, ladder *l, shown *s, bool *all_right) {
    TL_TRY(ladder_set(l, s->which, s->shape));
    bool there = false;
    for (int i = 0; i < l->rungs; i++) there |= l->rung[i].taking_part;
    /* a fused operation that no rung here has, or not at this shape */
    if (!o->beside && (there || strcmp(o->op, "all") != 0)) show_heading(l, s);
    if (!there) {
        if (!o->beside && strcmp(o->op, "all") != 0)
            puts("no rung of this device, of those chosen, takes it");
        ladder_clear(l);
        return TL_OK;
    }
    fflush(stdout);
    TL_TRY(ladder_ask(l, s->which, s->shape, o->seed, all_right));
    TL_TRY(ladder_time(l));
    TL_TRY(set_base(o, l, s));
    TL_TRY(show_rungs(l, s));
    ladder_clear(l);
    /* (students write no fused operations: there is nothing of theirs to be timed beside one) */
    bool timed = l->counts || s->base[WARM] > 0;
    bool mine = o->mine && timed && ladder_wants(o->rung, "mine");
    return mine ? run_mine(o, l, s, all_right) : TL_OK;
}

static tl_status run_all(const options_of_bench *o, ladder *l, bool *all_right) {
    jsonl out = {0};
    char folder[512];
    const char *slash = strrchr(o->out, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - o->out) : 1,
             slash ? o->out : ".");
    TL_TRY(tl_make_folder(folder, "; choose another file with OUT="));
    TL_TRY(jsonl_open(&out, o->out, true));
    tl_status status = TL_OK;
    for (const bench_case *c = bench_cases; c->row && status == TL_OK; c++)
        for (const bench_shape *s = bench_shapes; s->name && status == TL_OK; s++)
            if (listed(o->op, c->row) && strcmp(s->family, c->family) == 0 &&
                shape_wanted(o, l, s)) {
                shown show = {.which = c, .shape = s, .seed = o->seed, .out = &out};
                status = run_case(o, l, &show, all_right);
            }
    jsonl_close(&out);
    return status;
}

static void show_device(const ladder *l) {
    char gpu[64];
    tl_ctx *ctx = l->rung[0].ctx;
    tl_device_describe(ctx, gpu, sizeof gpu);
    printf("device   %s, %s%s%d thread%s (%s), %s\n", ctx->ops->name, gpu, gpu[0] ? ", " : "",
           ctx->threads, ctx->threads == 1 ? "" : "s", machine_name(), TL_REAL_NAME);
    if (l->counts)
        printf(
            "counts   32-byte sectors and waits for banks of its kernels, none of cuBLAS's: times "
            "are no\n         speeds here\n");
    else
        printf("ceilings %.1f GFLOP/s in a product, %.1f GB/s in a copy; cold: after %.0f MB\n",
               1e-9 * l->most[TL_FP32].flops, 1e-9 * l->most[TL_FP32].bytes,
               1e-6 * (double)l->cold_bytes);
    for (int p = TL_FP32 + 1; p < TL_PRECISIONS; p++)
        if (l->most[p].flops > 0)
            printf("         %.1f GFLOP/s in a product in %s\n", 1e-9 * l->most[p].flops,
                   tl_precision_name((tl_precision)p));
}

static tl_status work(int count, char *const word[], ladder *l, bool *all_right) {
    options_of_bench o = {.op = "all",
                          .rung = "all",
                          .shape = "all",
                          .device = "auto",
                          .samples = 20,
                          .seed = 1,
                          .out = "results/local/ladder.jsonl"};
    ceilings known = {0, 0};
    TL_TRY(words_read(&o, table, count, word));
    if (o.beside) sscanf(o.beside, "%*f,%*f,%lf,%lf", &known.flops, &known.bytes);
    if (strcmp(o.op, "all") != 0) TL_TRY(check_ops(o.op));
    TL_TRY(check_shapes(&o));
    bool named = strcmp(o.rung, "all") != 0 && ladder_wants(o.rung, "mine");
    TL_NEED(o.mine || o.beside || !named, TL_EINVAL,
            "RUNG=mine: what is in labs/ comes with MINE=1");
    l->samples = (int)o.samples;
    TL_TRY(ladder_open(l, o.device, (int)o.threads, o.rung, &known));
    if (!o.beside) show_device(l);
    return run_all(&o, l, all_right);
}

int main(int argc, char **argv) {
    static ladder l;
    bool all_right = true;
    wait_patiently(argv);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        words_help(table);
        return 0;
    }
    tl_status status = work(argc - 1, argv + 1, &l, &all_right);
    status = tl_root_cause(status);
    if (status != TL_OK) fprintf(stderr, "bench: %s\n", tl_error());
    if (l.rungs) {
        ladder_clear(&l);
        ladder_close(&l);
    }
    return status == TL_OK && all_right ? 0 : 1;
}
