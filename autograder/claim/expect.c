/* expect.c: comparisons and their messages. */
#include "expect.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

/* ---- how the call went ---- */

static bool is_sticky(const call_report *r) { return r->status == TL_EDEVICE; }

/* What is not allowed while a step is recorded, by the CUDA call that refused it. */
static const char *recorded_kind(const char *error) {
    static const struct {
        const char *word, *kind;
    } calls[] = {{"Memcpy", "host_copy"},
                 {"ops->copy", "host_copy"},
                 {"Malloc", "allocation"},
                 {"Free", "allocation"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strstr(error, calls[i].word)) return calls[i].kind;
    return "synchronise";
}

static void fail_status(claim *c, const call_report *r) {
    finding f;
    bool unwritten = r->status == TL_ENOTIMPL,
         recorded = strstr(r->error, "captur") || strstr(r->error, CALL_IN_A_STEP);
    const char *kind = unwritten                ? "not_implemented"
                       : recorded               ? recorded_kind(r->error)
                       : r->status == TL_ENOMEM ? "memory"
                                                : "status";
    finding_begin(&f, c, kind);
    finding_place(&f, r->error);
    if (unwritten)
        snprintf(f.text, sizeof f.text, "not implemented yet: %s", r->error);
    else
        snprintf(f.text, sizeof f.text, "failed with %s: %s", tl_status_name(r->status), r->error);
    claim_take(c, &f, unwritten || is_sticky(r));
}

/* What ended the process or kept the call from being made: no other call can follow. */
static void expect_alive(claim *c, const call_report *r) {
    if (r->ended) finding_take(c, r->kind, true, "%s", r->fault);
}

/* Status before manners: what failed may well have left outputs unwritten. */
void expect_ok(claim *c, const call_report *r) {
    if (c->case_failed) return;
    c->compared++;
    memcpy(c->counter, r->counter, sizeof c->counter);
    expect_alive(c, r);
    if (!r->reached && c->verdicts)
        finding_take(c, "machine", true, "the call could not be made: %s", r->error);
    if (r->status != TL_OK)
        fail_status(c, r);
    else if (c->verdicts && strcmp(r->kind, "never_written") == 0)
        claim_wait_for_array(c, r->fault);
    else if (r->fault[0])
        finding_take(c, r->kind, false, "%s", r->fault);
}

/* A refusal must say where and leave nothing behind: the fault covers memory and fences. */
void expect_status(claim *c, const call_report *r, tl_status status) {
    if (c->case_failed) return;
    c->compared++;
    expect_alive(c, r);
    if (r->status == TL_ENOTIMPL && status != TL_ENOTIMPL)
        fail_status(c, r);
    else if (r->status != status)
        finding_take(c, "status", false, "should fail with %s, returned %s%s%s",
                     tl_status_name(status), tl_status_name(r->status), r->error[0] ? ": " : "",
                     r->error);
    else if (!strchr(r->error, ':'))
        finding_take(c, "status", false, "failed without a line that says where: \"%s\"", r->error);
    else if (r->fault[0])
        finding_take(c, r->kind, false, "%s", r->fault);
}

void expect_refusal(claim *c, const call_report *r) {
    if (c->case_failed) return;
    if (r->ended) {
        c->compared++;
        finding_take(c, "not_refused", true, "was not refused: %s", r->fault);
    }
    if (r->status != TL_EINVAL && r->status != TL_ENOTIMPL) {
        c->compared++;
        finding_take(c, "not_refused", is_sticky(r), "was not refused, but returned %s%s%s",
                     tl_status_name(r->status), r->error[0] ? ": " : "", r->error);
    }
    expect_status(c, r, TL_EINVAL);
}

/* ---- single numbers and facts ---- */

void expect_number(claim *c, const char *name, double got, double want, double bound) {
    if (c->case_failed) return;
    comparison x = {.shape = SHAPE(1), .n = 1, .got = &got, .want = &want, .bound = &bound};
    double ratio = comparison_badness(&x, 0);
    claim_note(c, ratio);
    if (!(ratio <= 1))
        finding_take(c, isnan(got) ? "nan" : "mismatch", false,
                     "%s: got %.17g, expected %.17g, allowed +-%.3g", name, got, want, bound);
}

void expect_chance(claim *c, const char *name, double got, double want, double allowed) {
    if (c->case_failed) return;
    c->compared++;
    if (!(fabs(got - want) <= allowed))
        finding_take(c, "mismatch", false, "%s: got %.6g, expected %.6g, chance allows +-%.3g",
                     name, got, want, allowed);
}

void expect_true(claim *c, bool holds, const char *format, ...) {
    if (c->case_failed) return;
    c->compared++;
    if (holds) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    finding_take(c, "mismatch", false, "%s", text);
}

/* One element beyond its bound is enough: one claim is judged by its worst element too. */
void expect_sharp(claim *c, const double *coarse, const double *want, const double *bound,
                  size_t n) {
    c->coarse++;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(coarse[i] - want[i]) <= bound[i])) {
            c->sharp++;
            return;
        }
}
