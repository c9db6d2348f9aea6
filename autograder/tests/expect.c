/* expect.c: comparisons and their messages. */
#include "expect.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t shape_size(expect_shape s) {
    size_t size = 1;
    for (int i = 0; i < s.ndim; i++) size *= (size_t)s.dim[i];
    return size;
}

/* "(1,0,4,2)": where an offset lies. */
static const char *place(char text[64], expect_shape s, size_t at) {
    int index[4] = {0};
    for (int i = s.ndim - 1; i >= 0; i--) {
        index[i] = (int)(at % (size_t)s.dim[i]);
        at /= (size_t)s.dim[i];
    }
    int used = snprintf(text, 64, "(");
    for (int i = 0; i < s.ndim; i++)
        used += snprintf(text + used, 64 - (size_t)used, i ? ",%d" : "%d", index[i]);
    snprintf(text + used, 64 - (size_t)used, ")");
    return text;
}

/* Status before manners: what failed may well have left outputs unwritten. */
void expect_ok(claim *c, const call_report *r) {
    c->compared++;
    if (r->status == TL_ENOTIMPL) claim_fail(c, "not implemented yet: %s", r->error);
    if (r->status != TL_OK)
        claim_fail(c, "failed with %s: %s", tl_status_name(r->status), r->error);
    if (r->fault[0]) claim_fail(c, "%s", r->fault);
}

/* A refusal must say where and leave nothing behind: the fault covers memory and fences. */
void expect_status(claim *c, const call_report *r, tl_status status) {
    c->compared++;
    if (r->status != status)
        claim_fail(c, "should fail with %s, returned %s (%s)", tl_status_name(status),
                   tl_status_name(r->status), r->error);
    if (!strchr(r->error, ':'))
        claim_fail(c, "failed without a line that says where: \"%s\"", r->error);
    if (r->fault[0]) claim_fail(c, "%s", r->fault);
}

/* How bad one element is: 0 exact, up to 1 allowed, above 1 (or NaN made infinite) wrong. */
static double badness(double got, double want, double bound) {
    double error = fabs(got - want);
    if (error == 0) return 0;
    double ratio = error / bound; /* infinite for bound 0 */
    return isnan(ratio) ? INFINITY : ratio;
}

/* Keeps the worst ratio of the claim for GRADLAB_BOUNDS. */
static void note(claim *c, double ratio) {
    c->compared++;
    if (!(ratio > c->worst)) return;
    c->worst = ratio;
    memcpy(c->worst_call, c->call, sizeof c->worst_call);
}

/* All elements are looked at, so that the message can say how many are wrong and which is worst. */
void expect_close(claim *c, const char *name, const tl_real *got, const double *want,
                  const double *bound, expect_shape shape) {
    size_t n = shape_size(shape), worst = 0, wrong = 0;
    double largest = -1;
    for (size_t i = 0; i < n; i++) {
        double ratio = badness(got[i], want[i], bound[i]);
        wrong += !(ratio <= 1);
        if (ratio > largest) {
            largest = ratio;
            worst = i;
        }
    }
    note(c, largest);
    char text[64];
    if (wrong)
        claim_fail(c,
                   "%s: %zu of %zu elements are wrong, the worst at %s:\n"
                   "  got %.9g, expected %.9g, allowed +-%.3g (the error is %.3g times that)",
                   name, wrong, n, place(text, shape, worst), (double)got[worst], want[worst],
                   bound[worst], largest);
}

/* As numbers: 0 and -0 are one, all NaN are one. */
static bool equal(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

void expect_equal(claim *c, const char *name, const tl_real *got, const double *want,
                  expect_shape shape) {
    size_t n = shape_size(shape), first = n, wrong = 0;
    for (size_t i = 0; i < n; i++) {
        if (equal(got[i], want[i])) continue;
        if (!wrong++) first = i;
    }
    c->compared++;
    char text[64];
    if (wrong)
        claim_fail(c,
                   "%s: %zu of %zu elements are wrong, the first at %s:\n"
                   "  got %.9g, expected exactly %.9g",
                   name, wrong, n, place(text, shape, first), (double)got[first], want[first]);
}

/* As bytes: what reproducibility promises. */
void expect_same_bits(claim *c, const char *name, const tl_real *a, const tl_real *b,
                      expect_shape shape) {
    c->compared++;
    char text[64];
    for (size_t i = 0, n = shape_size(shape); i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            claim_fail(c, "%s: bits differ, first at %s: %.17g and %.17g", name,
                       place(text, shape, i), (double)a[i], (double)b[i]);
}

void expect_ints(claim *c, const char *name, const int32_t *got, const int32_t *want,
                 expect_shape shape) {
    size_t n = shape_size(shape), first = n, wrong = 0;
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i] && !wrong++) first = i;
    c->compared++;
    char text[64];
    if (wrong)
        claim_fail(c, "%s: %zu of %zu elements are wrong, the first at %s: got %d, expected %d",
                   name, wrong, n, place(text, shape, first), got[first], want[first]);
}

void expect_number(claim *c, const char *name, double got, double want, double bound) {
    double ratio = badness(got, want, bound);
    note(c, ratio);
    if (!(ratio <= 1))
        claim_fail(c, "%s: got %.17g, expected %.17g, allowed +-%.3g", name, got, want, bound);
}

void expect_chance(claim *c, const char *name, double got, double want, double allowed) {
    c->compared++;
    if (!(fabs(got - want) <= allowed))
        claim_fail(c, "%s: got %.6g, expected %.6g, chance allows +-%.3g", name, got, want,
                   allowed);
}

void expect_true(claim *c, bool holds, const char *format, ...) {
    c->compared++;
    if (holds) return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    claim_fail(c, "%s", text);
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
