/* expect_array.c: comparisons of arrays: how many elements are wrong, where, and what they are made
 * of.
 */
#include "expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

static size_t shape_size(expect_shape s) {
    size_t size = 1;
    for (int i = 0; i < s.ndim; i++) size *= (size_t)s.dim[i];
    return size;
}

/* "(1,0,4,2)", with names of axes "(n=1,c=0,h=4,w=2)": where an offset lies. */
static const char *place(char text[64], expect_shape s, size_t at) {
    int index[4] = {0};
    for (int i = s.ndim - 1; i >= 0; i--) {
        index[i] = (int)(at % (size_t)s.dim[i]);
        at /= (size_t)s.dim[i];
    }
    int used = snprintf(text, 64, "(");
    for (int i = 0; i < s.ndim; i++) {
        if (i) used += snprintf(text + used, 64 - (size_t)used, ",");
        if (s.axes) used += snprintf(text + used, 64 - (size_t)used, "%c=", s.axes[i]);
        used += snprintf(text + used, 64 - (size_t)used, "%d", index[i]);
    }
    snprintf(text + used, 64 - (size_t)used, ")");
    return text;
}

/* ---- what a wrong element is made of ---- */

#ifdef TL_REAL_DOUBLE
typedef uint64_t real_bits;
static const real_bits quiet_bit = UINT64_C(1) << 51;
#else
typedef uint32_t real_bits;
static const real_bits quiet_bit = UINT32_C(1) << 22;
#endif

static real_bits bits_of(tl_real value) {
    real_bits bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Arithmetic turns poison into a quiet NaN with the same payload, perhaps with another sign. */
static bool is_quieted(tl_real value, real_bits poison) {
    real_bits payload = quiet_bit - 1;
    return isnan(value) && (bits_of(value) & payload) == (poison & payload);
}

/* The kind of an array whose worst element is wrong; text goes on from "…, the worst at (…)". */
static const char *kind_of(tl_real got, double want, const char **text) {
    *text = "";
    if (is_quieted(got, CALL_FENCE_POISON)) {
        *text = ", which is made of what lies beside an array";
        return "read_outside";
    }
    /* the poison of an output or of scratch; hostcuda fills fresh memory with ones */
    if (is_quieted(got, CALL_POISON) || bits_of(got) + 1 == 0) {
        *text = ", which is made of memory that nobody had written";
        return "uninitialised";
    }
    return isnan(got) && !isnan(want) ? "nan" : "mismatch";
}

/* ---- arrays ---- */

/* What is wrong with an array, in a finding. `kind` and `made_of` are of the worst element. */
static void fail_array(claim *c, const char *name, const comparison *x, size_t wrong, size_t worst,
                       const char *kind, const char *made_of) {
    char text[64];
    finding f;
    finding_begin(&f, c, kind);
    snprintf(f.array, sizeof f.array, "%s", name);
    f.shape = x->shape;
    f.worst = worst;
    f.wrong = wrong;
    f.total = x->n;
    f.got = x->got[worst];
    f.want = x->want[worst];
    f.allowed = x->bound ? x->bound[worst] : 0;
    if (!x->bound) snprintf(f.bound, sizeof f.bound, "exact: copied, or rounded once");
    bool left = strcmp(kind, "never_written") == 0;
    int used =
        snprintf(f.text, sizeof f.text, "%s: %zu of %zu elements %s, the %s at %s%s", name, wrong,
                 x->n, left ? "were never written" : "are wrong",
                 x->bound && !left ? "worst" : "first", place(text, x->shape, worst), made_of);
    if (!c->verdicts && x->bound)
        snprintf(f.text + used, sizeof f.text - (size_t)used,
                 ":\n  got %.9g, expected %.9g, allowed +-%.3g (the error is %.3g times that)",
                 f.got, f.want, f.allowed, comparison_badness(x, worst));
    else if (!c->verdicts)
        snprintf(f.text + used, sizeof f.text - (size_t)used,
                 ":\n  got %.9g, expected exactly %.9g", f.got, f.want);
    pattern_find(&f, x);
    claim_take(c, &f, false);
}

/* Elements never written are reported alone: where they lie says more than what else is wrong.
 * Whether anything else is, is said: if not, all that is missing is to reach them. */
static bool fail_never_written(claim *c, const char *name, comparison *x, const bool *written) {
    size_t left = 0, first = 0;
    bool others = false;
    double *got = doubles(c, x->n);
    for (size_t i = x->n; i-- > 0;) {
        got[i] = written[i] ? x->want[i] : NAN;
        others |= written[i] && !(comparison_badness(x, i) <= 1);
        if (written[i]) continue;
        left++;
        first = i;
    }
    if (left == 0) return false;
    x->got = got;
    x->before = NULL;
    fail_array(c, name, x, left, first, "never_written", "");
    if (others) finding_pattern_of_case(c, "others_wrong");
    return true;
}

/* All elements are looked at, so that the message can say how many are wrong and which is worst. */
static void compare(claim *c, const char *name, const tl_real *got, const tl_real *before,
                    const double *want, const double *bound, expect_shape shape) {
    if (c->case_failed) return;
    size_t n = shape_size(shape), worst = 0, wrong = 0;
    double largest = -1;
    bool *written = claim_memory(c, n, sizeof *written);
    comparison x = {.shape = shape, .n = n, .want = want, .bound = bound};
    x.got = widen(c, got, n);
    for (size_t i = 0; i < n; i++) {
        double ratio = comparison_badness(&x, i);
        written[i] = bits_of(got[i]) != CALL_POISON;
        wrong += !(ratio <= 1);
        if (ratio > largest) {
            largest = ratio;
            worst = i;
        }
    }
    if (bound)
        claim_note(c, largest);
    else
        c->compared++;
    const char *made_of, *kind = kind_of(got[worst], want[worst], &made_of);
    if (wrong && fail_never_written(c, name, &x, written)) return;
    if (wrong && before) x.before = widen(c, before, n);
    if (wrong) fail_array(c, name, &x, wrong, worst, kind, made_of);
    c->bound[0] = '\0'; /* its words were of this array */
}

void expect_close(claim *c, const char *name, const tl_real *got, const double *want,
                  const double *bound, expect_shape shape) {
    compare(c, name, got, NULL, want, bound, shape);
}

void expect_numbers(claim *c, const char *name, const double *got, const double *want,
                    const double *bound, int n) {
    if (c->case_failed) return;
    const comparison x = {
        .shape = SHAPE(n), .n = (size_t)n, .got = got, .want = want, .bound = bound};
    size_t worst = 0, wrong = 0;
    for (size_t i = 0; i < x.n; i++) {
        wrong += !(comparison_badness(&x, i) <= 1);
        if (comparison_badness(&x, i) > comparison_badness(&x, worst)) worst = i;
    }
    claim_note(c, comparison_badness(&x, worst));
    if (wrong) fail_array(c, name, &x, wrong, worst, isnan(got[worst]) ? "nan" : "mismatch", "");
}

void expect_added(claim *c, const char *name, const tl_real *got, const tl_real *before,
                  const double *want, const double *bound, expect_shape shape) {
    compare(c, name, got, before, want, bound, shape);
}

void expect_equal(claim *c, const char *name, const tl_real *got, const double *want,
                  expect_shape shape) {
    compare(c, name, got, NULL, want, NULL, shape);
}

void expect_ints(claim *c, const char *name, const int32_t *got, const int32_t *want,
                 expect_shape shape) {
    size_t n = shape_size(shape), first = n, wrong = 0;
    if (c->case_failed) return;
    double *got_d = doubles(c, n), *want_d = doubles(c, n);
    bool *written = claim_memory(c, n, sizeof *written);
    for (size_t i = 0; i < n; i++) {
        written[i] = (uint32_t)got[i] != CALL_INT_POISON;
        got_d[i] = got[i];
        want_d[i] = want[i];
        if (got[i] != want[i] && !wrong++) first = i;
    }
    c->compared++;
    comparison x = {.shape = shape, .n = n, .got = got_d, .want = want_d};
    if (!wrong || fail_never_written(c, name, &x, written)) return;
    fail_array(c, name, &x, wrong, first, "mismatch", "");
}

/* As bytes: what reproducibility promises. `a` is judged, `b` is what it has to be. */
void expect_same_bits(claim *c, const char *name, const tl_real *a, const tl_real *b,
                      expect_shape shape) {
    if (c->case_failed) return;
    c->compared++;
    char text[64];
    for (size_t i = 0, n = shape_size(shape); i < n; i++) {
        if (!memcmp(&a[i], &b[i], sizeof *a)) continue;
        if (bits_of(a[i]) == CALL_POISON) {
            finding_take(c, "never_written", false, "%s: the element at %s was never written", name,
                         place(text, shape, i));
            return;
        }
        finding_take(c, "bits", false,
                     "%s: bits differ, first at %s: got %.17g, expected the bits of %.17g", name,
                     place(text, shape, i), (double)a[i], (double)b[i]);
        return;
    }
}
