/* pattern.c: looks for what wrong elements have in common, as somebody who debugs would. */
#include "pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double comparison_badness(const comparison *x, size_t i) {
    double got = x->got[i], want = x->want[i];
    if (!x->bound) return got == want || (isnan(got) && isnan(want)) ? 0 : INFINITY;
    double error = fabs(got - want);
    if (error == 0) return 0;
    double ratio = error / x->bound[i]; /* infinite for bound 0 */
    return isnan(ratio) ? INFINITY : ratio;
}

/* Is `value` what element i should be, as far as rounding allows? */
static bool is_near(const comparison *x, size_t i, double value, double want) {
    double allowed = x->bound ? 4 * x->bound[i] : 0;
    return fabs(value - want) <= allowed + 1e-6 * fabs(want);
}

/* ---- what they are instead ---- */

/* Runs over the wrong elements; true if the expression (of i) holds for all of them. */
#define ALL_WRONG(x, holds)                                                                        \
    bool all_ = true;                                                                              \
    for (size_t i = 0; all_ && i < (x)->n; i++) all_ = !pattern_wrong((x), i) || (holds);          \
    if (all_)

/* In the double build: not wrong by much, as if each had gone through a float on its way. Roundings
 * differ: what is moved by one and the same small number was not rounded. Nor was what should be
 * equal and is 0 wherever it is not: a float holds such numbers, too. */
static bool has_float_digits(const comparison *x) {
    if (sizeof(tl_real) != sizeof(double)) return false;
    double largest = 0, least_off = INFINITY, most_off = -INFINITY;
    size_t wrong = 0, zeros = 0;
    for (size_t i = 0; i < x->n; i++)
        if (isfinite(x->want[i])) largest = fmax(largest, fabs(x->want[i]));
    for (size_t i = 0; i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        double off = x->got[i] - x->want[i]; /* NaN is far away, too */
        if (!(fabs(off) <= 0x1p-21 * largest)) return false;
        least_off = fmin(least_off, off);
        most_off = fmax(most_off, off);
        wrong++;
        zeros += x->got[i] == 0;
    }
    if (!x->bound && zeros == wrong) return false;
    return wrong < 3 || most_off - least_off > 1e-3 * fmax(fabs(most_off), fabs(least_off));
}

static void find_values(finding *f, const comparison *x) {
    const double *got = x->got, *want = x->want, *before = x->before;
    if (has_float_digits(x)) finding_pattern(f, "float_digits");
    { ALL_WRONG(x, isnan(got[i])) finding_pattern(f, "nan"); }
    { ALL_WRONG(x, got[i] == 0) finding_pattern(f, "zero"); }
    {
        const double *from = before; /* what was there before keeps its sign */
        ALL_WRONG(x, is_near(x, i, got[i], (from ? 2 * from[i] : 0) - want[i]))
        finding_pattern(f, "negated");
    }
    if (!before) return;
    { ALL_WRONG(x, got[i] == before[i]) finding_pattern(f, "unchanged"); }
    {
        ALL_WRONG(x, is_near(x, i, got[i], want[i] - before[i]))
        finding_pattern(f, "overwritten_not_added");
    }
    {
        ALL_WRONG(x, is_near(x, i, got[i], 2 * want[i] - before[i]))
        finding_pattern(f, "added_twice");
    }
    {
        ALL_WRONG(x, is_near(x, i, got[i], want[i] + before[i]))
        finding_pattern(f, "before_twice");
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One factor between what was computed and what should have been; what was there before, if not
 * NULL, is no part of either. The median is tried, for small numbers have coarse ratios. */
static bool is_one_factor(finding *f, const comparison *x, const double *before, const char *name) {
    double *ratio = malloc(x->n * sizeof *ratio);
    size_t count = 0;
    bool one = false;
    for (size_t i = 0; ratio && i < x->n; i++) {
        double from = before ? before[i] : 0, whole = x->want[i] - from;
        if (pattern_wrong(x, i) && whole != 0 && isfinite(x->got[i]))
            ratio[count++] = (x->got[i] - from) / whole;
    }
    if (count >= 2) {
        qsort(ratio, count, sizeof *ratio, ascending);
        double factor = ratio[count / 2];
        one = factor != 0 && fabs(fabs(factor) - 1) > 1e-3;
        for (size_t i = 0; one && i < x->n; i++) {
            double from = before ? before[i] : 0;
            one = !pattern_wrong(x, i) ||
                  is_near(x, i, x->got[i], from + factor * (x->want[i] - from));
        }
        if (one) {
            finding_pattern(f, name);
            f->ratio = factor;
        }
    }
    free(ratio);
    return one;
}

static void find_factor(finding *f, const comparison *x) {
    if (!is_one_factor(f, x, x->before, "constant_factor") && x->before)
        is_one_factor(f, x, NULL, "whole_factor");
}

/* Each wrong element is what one `distance` further on should be. Where that lies outside, anything
 * goes, but not everywhere. */
static bool shifted_by(const comparison *x, long distance) {
    size_t seen = 0, good = 0;
    for (size_t i = 0; i < x->n; i++) {
        long from = (long)i + distance;
        if (!pattern_wrong(x, i) || from < 0 || from >= (long)x->n) continue;
        seen++;
        good += is_near(x, i, x->got[i], x->want[from]);
    }
    return seen >= 4 && 10 * good >= 9 * seen;
}

static void find_shift(finding *f, const comparison *x) {
    long step = 1;
    for (int dim = x->shape.ndim - 1; dim >= 0 && dim >= x->shape.ndim - 2; dim--) {
        if (x->shape.dim[dim] > 1 && (shifted_by(x, step) || shifted_by(x, -step))) {
            finding_pattern(f, "shifted");
            return;
        }
        step *= x->shape.dim[dim];
    }
}

/* A list that is right up to some place, and there begins anew: what comes later was made of what
 * the first elements are made of. */
static void find_first_again(finding *f, const comparison *x) {
    size_t first = 0, seen = 0, good = 0;
    while (first < x->n && !pattern_wrong(x, first)) first++;
    if (x->shape.ndim != 1 || first < 2) return;
    for (size_t i = first; i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        seen++;
        good += is_near(x, i, x->got[i], x->want[i % first]);
    }
    if (seen >= 4 && 10 * good >= 9 * seen) finding_pattern(f, "first_again");
}

/* From one row (column) on each holds, beside what it should, what stands that many rows before:
 * sums that were not set back in between. */
static bool holds_first_too(const comparison *x, int dim) {
    size_t step = dim == x->shape.ndim - 1 ? 1 : (size_t)x->shape.dim[dim + 1];
    size_t size = (size_t)x->shape.dim[dim], first = size, seen = 0, good = 0;
    for (size_t i = 0; i < x->n; i++)
        if (pattern_wrong(x, i) && i / step % size < first) first = i / step % size;
    for (size_t i = 0; first > 0 && i < x->n; i++) {
        if (!pattern_wrong(x, i) || i / step % size >= 2 * first) continue;
        size_t from = i - first * step;
        double earlier = x->want[from] - (x->before ? x->before[from] : 0);
        seen++;
        good += is_near(x, i, x->got[i], x->want[i] + earlier);
    }
    return seen >= 4 && 10 * good >= 9 * seen;
}

static void find_first_added(finding *f, const comparison *x) {
    int last = x->shape.ndim - 1;
    if (x->shape.ndim == 2 && (holds_first_too(x, last - 1) || holds_first_too(x, last)))
        finding_pattern(f, "first_added");
}

/* The last two dimensions exchanged: row and column mixed up in an index. (What holds zeros alone
 * may look like it by chance.) What was there before, if not NULL, is where it should be. */
static bool is_transposed(const comparison *x, const double *before) {
    size_t rows = (size_t)x->shape.dim[x->shape.ndim - 2];
    size_t cols = (size_t)x->shape.dim[x->shape.ndim - 1], plane = rows * cols, good = 0;
    bool numbers = false;
    if (rows < 2 || cols < 2) return false;
    for (size_t i = 0; i < x->n; i++) {
        size_t at = i % plane; /* the place in a plane that is stored column by column */
        size_t from = i - at + at % rows * cols + at / rows;
        double here = before ? before[i] : 0, there = before ? before[from] : 0;
        good += is_near(x, i, x->got[i], here + x->want[from] - there);
        numbers = numbers || (pattern_wrong(x, i) && x->got[i] != here);
    }
    return numbers && 10 * good >= 9 * x->n;
}

static void find_transposed(finding *f, const comparison *x) {
    if (x->shape.ndim < 2) return;
    if (is_transposed(x, NULL) || (x->before && is_transposed(x, x->before)))
        finding_pattern(f, "transposed");
}

/* The right numbers in the wrong places (and not each nearly right in its own). */
static void find_permuted(finding *f, const comparison *x) {
    double *got = malloc(x->n * sizeof *got), *want = malloc(x->n * sizeof *want);
    bool same = got && want, moved = false;
    size_t count = 0;
    for (size_t i = 0; same && i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        same = !isnan(x->got[i]);
        moved = moved || !is_near(x, i, x->got[i], x->want[i]);
        got[count] = x->got[i];
        want[count++] = x->want[i];
    }
    if (same && moved && count >= 3) {
        qsort(got, count, sizeof *got, ascending);
        qsort(want, count, sizeof *want, ascending);
        for (size_t i = 0; same && i < count; i++)
            same = fabs(got[i] - want[i]) <= 1e-6 * fabs(want[i]);
        if (same && got[0] != got[count - 1]) finding_pattern(f, "permuted");
    }
    free(got);
    free(want);
}

static bool has_pattern(const finding *f, const char *name) {
    for (int i = 0; i < f->patterns; i++)
        if (strcmp(f->pattern[i], name) == 0) return true;
    return false;
}

/* What was never written should all be 0: a condition without its else. Either nothing else should
 * be 0, or it lies here and there; the end of an array may hold a 0 by chance. */
static void find_zeros_left_out(finding *f, const comparison *x) {
    bool others = false;
    for (size_t i = 0; i < x->n; i++) {
        if (pattern_wrong(x, i) && x->want[i] != 0) return;
        others = others || (!pattern_wrong(x, i) && x->want[i] == 0);
    }
    if (strcmp(f->kind, "never_written") == 0 && f->wrong < x->n &&
        (!others || has_pattern(f, "gaps")))
        finding_pattern(f, "zeros_left_out");
}

/* ---- a picture ---- */

/* The plane of the worst element, '#' where something in the cell's rows and columns is wrong. */
static void draw_map(finding *f, const comparison *x) {
    int ndim = x->shape.ndim;
    size_t cols = (size_t)x->shape.dim[ndim - 1];
    size_t rows = ndim > 1 ? (size_t)x->shape.dim[ndim - 2] : 1;
    size_t tall = (rows + MAP_LINES - 1) / MAP_LINES, wide = (cols + MAP_COLUMNS - 1) / MAP_COLUMNS;
    size_t plane = f->worst / (rows * cols) * rows * cols;
    if (x->n < 2) return;
    f->map_lines = (int)((rows + tall - 1) / tall);
    memset(f->map, 0, sizeof f->map);
    for (size_t i = 0; i < rows * cols; i++) {
        char *cell = &f->map[i / cols / tall][i % cols / wide];
        if (!*cell) *cell = '.';
        if (pattern_wrong(x, plane + i)) *cell = '#';
    }
}

/* Where a window of at most WINDOW begins along `size`: `at` in its middle, if there is room. */
static int window_begin(int at, int size) {
    int begin = at - WINDOW / 2, last = size - WINDOW;
    return begin < 0 || last <= 0 ? 0 : begin < last ? begin : last;
}

/* The numbers around the worst element, in its plane. */
static void cut_window(finding *f, const comparison *x) {
    finding_window *w = &f->window;
    int ndim = x->shape.ndim, cols = x->shape.dim[ndim - 1];
    int rows = ndim > 1 ? x->shape.dim[ndim - 2] : 1;
    size_t size = (size_t)rows * (size_t)cols, plane = f->worst / size * size;
    if (x->n < 2) return;
    w->row = window_begin((int)((f->worst - plane) / (size_t)cols), rows);
    w->col = window_begin((int)((f->worst - plane) % (size_t)cols), cols);
    w->rows = rows < WINDOW ? rows : WINDOW;
    w->cols = cols < WINDOW ? cols : WINDOW;
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->cols; j++) {
            size_t at = plane + (size_t)(w->row + i) * (size_t)cols + (size_t)(w->col + j);
            w->got[i][j] = x->got[at];
            w->want[i][j] = x->want[at];
            w->wrong[i][j] = pattern_wrong(x, at);
        }
}

void pattern_find(finding *f, const comparison *x) {
    draw_map(f, x);
    cut_window(f, x);
    if (x->n == 1) { /* where it lies says nothing */
        find_values(f, x);
        return;
    }
    if (f->wrong == x->n) finding_pattern(f, "everything");
    if (f->wrong == 1) finding_pattern(f, "one_element");
    find_values(f, x);
    find_factor(f, x);
    if (f->wrong == 1) { /* one element always shares everything with itself */
        bool unreached = strcmp(f->kind, "never_written") == 0 ||
                         (x->before && x->got[f->worst] == x->before[f->worst]);
        if (unreached && f->worst == x->n - 1) finding_pattern(f, "last_block");
        return;
    }
    pattern_places(f, x);
    find_zeros_left_out(f, x);
    find_first_again(f, x);
    find_first_added(f, x);
    find_transposed(f, x);
    find_shift(f, x);
    find_permuted(f, x);
}

/* What a call costs, or how it is launched, is no matter of which other cases were right. */
static bool is_of_cases(const finding *f) {
    static const char *const others[] = {"sectors",  "bank_conflicts", "shared_requests",
                                         "launches", "no_launch",      "launch_configuration"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(f->kind, others[i]) == 0) return false;
    return true;
}

/* No failed case lacks it and most cases that have it failed; and there is a case that lacks it and
 * passed. */
static bool explains(const claim_trait_count *t) {
    return t->failed[0] == 0 && t->failed[1] > 0 && t->passed[0] > 0 &&
           t->failed[1] >= t->passed[1];
}

/* How well chance explains it, too. 2, 3: it is of plain sizes, which are awkward where something
 * else is tried. 1: most cases have it, and some of them passed. */
static int chance_of(const claim_trait_count *t) {
    if (strcmp(t->name, "nonsquare") == 0) return 2;
    if (strcmp(t->name, "channels") == 0) return 3;
    return t->passed[1] > 0 && t->failed[1] + t->passed[1] > t->failed[0] + t->passed[0];
}

/* Of the traits that explain the failures those that chance explains least. */
void pattern_over_cases(finding *f, const claim *c) {
    int least = 3;
    for (int i = 0; i < CLAIM_TRAITS && c->trait[i].name; i++)
        if (explains(&c->trait[i]) && chance_of(&c->trait[i]) < least)
            least = chance_of(&c->trait[i]);
    for (int i = 0; i < CLAIM_TRAITS && c->trait[i].name && is_of_cases(f); i++)
        if (explains(&c->trait[i]) && chance_of(&c->trait[i]) == least)
            finding_pattern(f, c->trait[i].name);
}
