/* claim.c: begin, cases and end of a claim. */
#include "claim.h"

#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"
#include "verdict.h"

/* How long the cases after a failed one may take, to tell what failures have in common. */
static const double more_cases_s = 1;

/* Whether "suite/test" stands in a list with spaces between. */
static bool stands_in(const char *list, const char *suite, const char *test) {
    char name[200];
    size_t length = (size_t)snprintf(name, sizeof name, "%s/%s", suite, test);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

/* Leaves of a suite the tests that are listed. */
static void keep_listed(struct criterion_suite_set *suite, const char *list) {
    if (!suite->tests) return;
    FOREACH_SET(struct criterion_test * test, suite->tests) {
        if (!stands_in(list, test->category, test->name)) test->data->disabled = true;
    }
}

/* GRADLAB_ONLY="suite/test suite/test": these alone. A --filter of so many names costs Criterion
 * more than all of the claims. */
ReportHook(PRE_ALL)(struct criterion_test_set *tests) {
    const char *only = getenv("GRADLAB_ONLY");
    if (only) {
        FOREACH_SET(struct criterion_suite_set * suite, tests->suites) { keep_listed(suite, only); }
    }
    call_run_begin();
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats) {
    (void)stats;
    call_run_end();
}

/* (the plain rows bear what GRADLAB_RUNGS names, if that is neither none nor all) */
call_target claim_targets[] = {
    {.device = "cpu", .rungs = "none", .threads = 1},
    {.device = "cpu", .rungs = "none", .threads = 3},
    {.device = "cpu", .rungs = "all", .threads = 1},
    {.device = "cpu", .rungs = "all", .threads = 3},
    {.device = "cuda", .rungs = "none", .threads = 1},
    {.device = "cuda", .rungs = "all", .threads = 1},
    {.device = "hostcuda", .rungs = "none", .threads = 1},
    {.device = "hostcuda", .rungs = "all", .threads = 1},
    {.device = NULL},
};

static bool named(const char *rungs) {
    return rungs && strcmp(rungs, "none") != 0 && strcmp(rungs, "all") != 0;
}

static void name_rungs(void) {
    const char *rungs = getenv("GRADLAB_RUNGS");
    if (!named(rungs)) return;
    for (call_target *t = claim_targets; t->device; t++)
        if (strcmp(t->rungs, "none") == 0) t->rungs = rungs;
}

bool claim_has_rungs(const call_target *t) {
    const char *rungs = getenv("GRADLAB_RUNGS");
    return !rungs || strcmp(t->rungs, rungs) == 0;
}

bool claim_runs_on(const call_target *t) {
    const char *wanted = getenv("GRADLAB_DEVICES");
    if (!wanted || !*wanted) wanted = "cpu";
    if (!claim_has_rungs(t) || (getenv("GRADLAB_RUNGS") && t->threads != 1)) return false;
    for (size_t length; *wanted; wanted += length + (wanted[length] == ',')) {
        length = strcspn(wanted, ",");
        if (strlen(t->device) == length && strncmp(wanted, t->device, length) == 0) return true;
    }
    return false;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void claim_begin(claim *c, const char *name) {
    memset(c, 0, sizeof *c);
    name_rungs();
    c->name = name;
    c->began = now_s();
    c->verdicts = getenv("GRADLAB_CLAIMS");
    for (int i = 0; i < CALL_COUNTERS; i++) c->counter[i] = -1;
    snprintf(c->call, sizeof c->call, "(no call yet)");
    call_describe(c->call);
    const char *seed = getenv("GRADLAB_SEED");
    char *end = NULL;
    c->seed = seed && *seed ? strtoull(seed, &end, 10) : 1;
    if (end && *end) claim_fail(c, "GRADLAB_SEED=%s is not a whole number", seed);
    claim_draw_from(c, c->seed, name);
}

/* (FNV-1a) */
void claim_draw_from(claim *c, uint64_t seed, const char *name) {
    c->state = UINT64_C(0xCBF29CE484222325) ^ seed;
    for (const char *p = name; *p; p++) c->state = (c->state ^ (uint8_t)*p) * 0x100000001B3;
}

/* ---- cases ---- */

/* Leaves the test with the first failure as its message. */
__attribute__((noreturn)) static void leave(claim *c, const finding *f) {
    const char *devices = getenv("GRADLAB_DEVICES"), *rungs = getenv("GRADLAB_RUNGS");
    cr_assert(0, "%s\n  call: %s\n  again: GRADLAB_SEED=%llu%s%s%s%s, filter %s", f->text, f->call,
              (unsigned long long)c->seed, devices ? " GRADLAB_DEVICES=" : "",
              devices ? devices : "", rungs ? " GRADLAB_RUNGS=" : "", rungs ? rungs : "", c->name);
    abort(); /* cr_assert has left the test */
}

/* The claim fails here and now. */
__attribute__((noreturn)) static void finish(claim *c) {
    /* So that a warning at the end of the process is seen, too, and a GPU's worker serves the next
     * claim. What is merely not written has done it no harm. */
    if (!c->finding->last || strcmp(c->finding->kind, "not_implemented") == 0) {
        call_report r;
        call_close(&r);
    }
    verdict_write(c, c->finding);
    leave(c, c->finding);
}

static void close_case(claim *c);

void claim_take(claim *c, const finding *f, bool last) {
    if (c->trial) _exit(finding_is_ours(f) ? CLAIM_AT_FAULT : c->trial);
    if (!c->verdicts) leave(c, f);
    if (!c->finding) {
        c->finding = claim_memory(c, 1, sizeof *f);
        *c->finding = *f;
        c->failed_case = c->cases;
        c->failed_at = now_s();
    }
    c->case_failed = true;
    c->finding->last |= last;
    c->unwritten[0] = '\0';
    if (!last) return;
    close_case(c);
    finish(c);
}

void claim_wait_for_array(claim *c, const char *fault) {
    snprintf(c->unwritten, sizeof c->unwritten, "%s", fault);
}

/* The running case is over: its traits count for its outcome. */
static void close_case(claim *c) {
    finding f;
    if (c->unwritten[0] && !c->case_failed) {
        finding_begin(&f, c, "never_written");
        snprintf(f.text, sizeof f.text, "%s", c->unwritten);
        claim_take(c, &f, false);
    }
    c->unwritten[0] = '\0';
    for (int i = 0; i < CLAIM_TRAITS && c->trait[i].name; i++) {
        claim_trait_count *t = &c->trait[i];
        if (t->now >= 0) (c->case_failed ? t->failed : t->passed)[t->now]++;
        t->now = -1;
    }
    limits_close(c);
}

/* Appends device, rungs and threads to c->call; in grading there are no rungs to speak of. */
static void say_where(claim *c, const call_target *t, int used) {
    if (used < 0 || (size_t)used >= sizeof c->call) return;
    char *at = c->call + used;
    size_t room = sizeof c->call - (size_t)used;
    const char *only = getenv("GRADLAB_RUNGS");
    bool rungs = !only || named(only);
    snprintf(at, room, " on %s%s%s, %d thread%s%s", t->device, rungs ? ", rungs " : "",
             rungs ? t->rungs : "", t->threads, t->threads == 1 ? "" : "s",
             t->recorded ? ", recorded as part of a step" : "");
}

void claim_case(claim *c, const call_target *t, const char *format, ...) {
    close_case(c);
    if (c->finding && now_s() - c->failed_at > more_cases_s) finish(c);
    c->cases++;
    c->case_failed = false;
    c->target = t;
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(c->call, sizeof c->call, format, arguments);
    va_end(arguments);
    if (t) say_where(c, t, used);
}

void claim_say(claim *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->said, sizeof c->said, format, arguments);
    va_end(arguments);
}

void claim_trait(claim *c, const char *name, bool has) {
    if (c->trial) return; /* as in claim_size */
    for (int i = 0; i < CLAIM_TRAITS; i++) {
        claim_trait_count *t = &c->trait[i];
        if (t->name && strcmp(t->name, name) != 0) continue;
        t->name = name;
        t->now = has;
        return;
    }
    cr_assert(0, "%s: more than %d traits", c->name, CLAIM_TRAITS);
}

void claim_fail(claim *c, const char *format, ...) {
    finding f;
    finding_begin(&f, c, "grader");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f.text, sizeof f.text, format, arguments);
    va_end(arguments);
    claim_take(c, &f, true);
    abort(); /* claim_take has left the test */
}

/* Keeps the worst ratio of the claim for GRADLAB_BOUNDS. */
void claim_note(claim *c, double ratio) {
    c->compared++;
    if (!(ratio > c->worst)) return;
    c->worst = ratio;
    memcpy(c->worst_call, c->call, sizeof c->worst_call);
}

/* ---- end ---- */

/* The right numbers, from the host. */
static void no_launch(const claim *c, finding *f, const char *op) {
    finding_begin(f, c, "no_launch");
    snprintf(f->call, sizeof f->call, "a call of %s", op);
    snprintf(f->text, sizeof f->text,
             "it launched no kernel: the work of %s is not done on the device", op);
}

/* As one would write it: 3, or dim3(3, 2). */
static const char *size_text(char to[40], const uint32_t d[3]) {
    if (d[2] > 1)
        snprintf(to, 40, "dim3(%u, %u, %u)", d[0], d[1], d[2]);
    else if (d[1] > 1)
        snprintf(to, 40, "dim3(%u, %u)", d[0], d[1]);
    else
        snprintf(to, 40, "%u", d[0]);
    return to;
}

static double product_of(const uint32_t d[3]) { return (double)d[0] * d[1] * d[2]; }

/* What was launched, and what the elements ask for: more threads, or that more of them write. */
static void launch_text(char *to, size_t room, const call_sharing *few) {
    enum { BLOCK = 256 }; /* as TL_BLOCK (tl/cuda.h) */
    const call_launch *l = &few->launch;
    double threads = product_of(l->grid) * product_of(l->block);
    char grid[40], block[40], of[40] = "";
    if (few->launches > 1)
        snprintf(of, sizeof of, " (one of %lld launches)", (long long)few->launches);
    int used = snprintf(to, room, ". The launch was %s<<<%s, %s>>>%s", l->kernel,
                        size_text(grid, l->grid), size_text(block, l->block), of);
    if (threads < (double)few->enough)
        snprintf(to + used, room - (size_t)used,
                 ": too few threads; <<<%zu, %d>>> has one for each of %zu elements",
                 (few->pieces - 1) / BLOCK + 1, BLOCK, few->pieces);
    else
        snprintf(to + used, room - (size_t)used,
                 ": %.0f threads are enough, but most of them took no part", threads);
}

static void parallel(const claim *c, finding *f, const call_sharing *few) {
    const bool known = few->launch.kernel[0];
    char launched[384] = "";
    if (known) launch_text(launched, sizeof launched, few);
    finding_begin(f, c, "parallel");
    snprintf(f->call, sizeof f->call, "%s", few->described);
    snprintf(f->text, sizeof f->text,
             "in this call, the largest of %s, %lld thread%s did all of the work, %zu elements, "
             "which at least %zu should share: a thread is to take a few elements of its own, not "
             "those of all%s%s",
             few->op, (long long)few->threads, few->threads == 1 ? "" : "s", few->pieces,
             few->enough, launched,
             known && product_of(few->launch.grid) == 1
                 ? ""
                 : ". Grids of tl_blocks are kept to a few blocks when graded (tl/cuda.h): if one "
                   "thread of each block writes, there are no more writers than blocks");
}

/* What shows only when all is over: memory still out, a warning of a checker, nothing launched. */
void claim_end_of_calls(claim *c) {
    call_report r;
    finding f;
    const char *idle = c->copies ? NULL : call_idle_op();
    const call_sharing *few = c->copies ? NULL : call_shared_by_few();
    call_close(&r);
    snprintf(c->call, sizeof c->call, "(after the last call)");
    finding_begin(&f, c, r.kind[0] ? r.kind : "leak");
    if (r.fault[0])
        snprintf(f.text, sizeof f.text, "%s", r.fault);
    else if (r.live_blocks)
        snprintf(f.text, sizeof f.text, "%zu blocks of device memory were still out at the end",
                 r.live_blocks);
    else if (idle)
        no_launch(c, &f, idle);
    else if (few)
        parallel(c, &f, few);
    else
        return;
    claim_take(c, &f, true);
}

void claim_end(claim *c) {
    close_case(c);
    if (c->finding) finish(c);
    claim_end_of_calls(c);
    /* an assertion that passes too: a test that reports none has left before its end */
    cr_assert_gt(c->compared, 0, "%s compared nothing", c->name);
    if (c->coarse && !c->sharp) {
        finding f;
        finding_begin(&f, c, "blind");
        snprintf(f.text, sizeof f.text,
                 "the bounds are blind: inputs rounded to fewer digits pass %d of %d cases",
                 c->coarse, c->coarse);
        claim_take(c, &f, true);
    }
    if (getenv("GRADLAB_BOUNDS")) {
        fprintf(stderr, "bounds %s %s err/bound %.3f in %d results%s\n", TL_REAL_NAME, c->name,
                c->worst, c->compared, c->coarse ? "" : " (not tried with coarse inputs)");
        if (!(c->worst <= 0.5))
            claim_fail(c, "err/bound of the reference reached %.3f in %s", c->worst, c->worst_call);
    }
    if (c->verdicts) verdict_write(c, NULL);
    for (size_t i = 0; i < c->blocks; i++) free(c->block[i]);
    free(c->block);
}
