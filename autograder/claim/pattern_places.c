/* pattern_places.c: where wrong elements lie. */
#include "pattern.h"

#include <string.h>

/* The index along one dimension. */
static int index_at(expect_shape s, size_t at, int dim) {
    for (int i = s.ndim - 1; i > dim; i--) at /= (size_t)s.dim[i];
    return (int)(at % (size_t)s.dim[dim]);
}

static int axis_of(expect_shape s, const char *letters) {
    for (int i = 0; s.axes && i < s.ndim; i++)
        if (s.axes[i] && strchr(letters, s.axes[i])) return i;
    return -1;
}

/* Index of all wrong elements along a dimension: the one they share, -1 none wrong, -2 several. */
static int common_index(const comparison *x, int dim) {
    int common = -1;
    for (size_t i = 0; i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        int at = index_at(x->shape, i, dim);
        if (common >= 0 && at != common) return -2;
        common = at;
    }
    return common;
}

static void find_in_batch(finding *f, const comparison *x) {
    int n = axis_of(x->shape, "n"), channel = axis_of(x->shape, "ck");
    if (n >= 0 && x->shape.dim[n] > 1) {
        bool first = false, later = false;
        for (size_t i = 0; i < x->n; i++)
            if (pattern_wrong(x, i)) *(index_at(x->shape, i, n) ? &later : &first) = true;
        if (!first) finding_pattern(f, "batch>0");
        if (!later) finding_pattern(f, "batch=0");
    }
    if (channel < 0 || x->shape.dim[channel] < 2) return;
    if (common_index(x, channel) >= 0) finding_pattern(f, "one_channel");
    bool first = false;
    for (size_t i = 0; i < x->n; i++)
        first |= pattern_wrong(x, i) && index_at(x->shape, i, channel) == 0;
    if (!first) finding_pattern(f, "channel>0");
}

/* The rim of the planes that the last two dimensions span. (The first and the last row of a matrix
 * are no rim.) */
static void find_borders(finding *f, const comparison *x) {
    int rows = x->shape.ndim - 2, cols = x->shape.ndim - 1;
    if (rows < 1 || x->shape.dim[rows] < 3 || x->shape.dim[cols] < 3) return;
    bool rim = false, inside = false;
    for (size_t i = 0; i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        int row = index_at(x->shape, i, rows), col = index_at(x->shape, i, cols);
        bool edge =
            row == 0 || row == x->shape.dim[rows] - 1 || col == 0 || col == x->shape.dim[cols] - 1;
        *(edge ? &rim : &inside) = true;
    }
    if (!inside) finding_pattern(f, "borders");
    if (!rim) finding_pattern(f, "interior");
}

/* The same places in every plane: threads or loops that cover too few outputs of each. */
static void find_planes(finding *f, const comparison *x) {
    if (x->shape.ndim < 2) return;
    size_t plane =
        (size_t)x->shape.dim[x->shape.ndim - 1] * (size_t)x->shape.dim[x->shape.ndim - 2];
    if (plane < 2 || x->n < 2 * plane || f->wrong == x->n) return;
    for (size_t i = plane; i < x->n; i++)
        if (pattern_wrong(x, i) != pattern_wrong(x, i % plane)) return;
    finding_pattern(f, "every_plane");
}

/* All wrong ones stand together at one end of the flat array, and the other end is right; or what
 * was written stands between what was not. */
static void find_blocks(finding *f, const comparison *x) {
    size_t first = x->n, last = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (!pattern_wrong(x, i)) continue;
        if (first == x->n) first = i;
        last = i;
    }
    size_t length = last - first + 1;
    if (strcmp(f->kind, "never_written") == 0 && x->shape.ndim == 1 && 10 * f->wrong < 9 * length)
        finding_pattern(f, "gaps");
    if (f->wrong < 2 || 10 * f->wrong < 9 * length || length == x->n) return;
    if (last == x->n - 1) finding_pattern(f, "last_block");
    if (first == 0) finding_pattern(f, "first_block");
}

/* A student's kernel is compiled for at most three blocks (mk/workers.mk): one without a loop over
 * its grid does the first elements and touches none behind them. */
static void find_grid(finding *f, const comparison *x) {
    enum { REACHED = 3 * 256 }; /* tl_blocks(n, TL_BLOCK) blocks of TL_BLOCK threads */
    bool never_written = strcmp(f->kind, "never_written") == 0;
    if (x->n <= REACHED || !(never_written || x->before)) return;
    for (size_t i = 0; i < x->n; i++) {
        bool untouched = never_written ? pattern_wrong(x, i) : x->got[i] == x->before[i];
        if (i < REACHED ? pattern_wrong(x, i) : !untouched) return;
    }
    finding_pattern(f, "behind_the_grid");
}

/* From one column (row) on all are wrong, and none before: not from the second one on, where each
 * but the first is. */
static void find_later(finding *f, const comparison *x, int dim, const char *name) {
    int size = dim < 0 ? 0 : x->shape.dim[dim], first = size;
    for (size_t i = 0; i < x->n && size; i++)
        if (pattern_wrong(x, i) && index_at(x->shape, i, dim) < first)
            first = index_at(x->shape, i, dim);
    size_t later = size ? x->n / (size_t)size * (size_t)(size - first) : 0;
    if (x->shape.ndim == 2 && first >= 2 && first < size && 10 * f->wrong >= 9 * later &&
        later >= 4)
        finding_pattern(f, name);
}

void pattern_places(finding *f, const comparison *x) {
    find_grid(f, x);
    find_in_batch(f, x);
    find_borders(f, x);
    find_blocks(f, x);
    find_later(f, x, x->shape.ndim - 2, "later_rows");
    find_later(f, x, x->shape.ndim - 1, "later_columns");
    find_planes(f, x);
}
