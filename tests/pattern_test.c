/* pattern_test.c: what wrong elements have in common is found, and nothing else is. */
#include "autograder/claim/limits.h"
#include "autograder/claim/pattern.h"

#include <math.h>
#include <string.h>

enum { N = 2, C = 3, H = 4, W = 5, SIZE = N * C * H * W };

/* A right array, what was there before, and a copy to spoil. */
typedef struct spoiled {
    double want[SIZE], before[SIZE], got[SIZE];
} spoiled;

static spoiled draw_spoiled(claim *c) {
    spoiled s;
    for (int i = 0; i < SIZE; i++) {
        s.before[i] = draw_uniform(c, 1, 2);
        s.got[i] = s.want[i] = draw_uniform(c, -2, 2);
    }
    return s;
}

static finding find(claim *c, const spoiled *s, bool before) {
    finding f;
    double bound[SIZE];
    for (int i = 0; i < SIZE; i++) bound[i] = 1e-9;
    const comparison x = {.shape = AXES("nchw", N, C, H, W),
                          .n = SIZE,
                          .got = s->got,
                          .want = s->want,
                          .bound = bound,
                          .before = before ? s->before : NULL};
    finding_begin(&f, c, "mismatch");
    for (size_t i = 0; i < SIZE; i++) f.wrong += !(comparison_badness(&x, i) <= 1);
    for (size_t i = SIZE; i-- > 0;)
        if (!(comparison_badness(&x, i) <= 1)) f.worst = i;
    pattern_find(&f, &x);
    return f;
}

/* The names in the order in which they are found, "a b c". */
static void expect_patterns(claim *c, const char *what, const finding *f, const char *want) {
    char got[400] = "";
    for (int i = 0; i < f->patterns; i++) {
        if (i) strcat(got, " ");
        strcat(got, f->pattern[i]);
    }
    expect_true(c, strcmp(got, want) == 0, "%s: found \"%s\", expected \"%s\"", what, got, want);
}

/* Element i, which lies at (n,ch,h,w), becomes `value` where `condition` holds. */
#define SPOIL(condition, value)                                                                    \
    s = draw_spoiled(c);                                                                           \
    for (int i = 0; i < SIZE; i++) {                                                               \
        const int n = i / (C * H * W), ch = i / (H * W) % C, h = i / W % H, w = i % W;             \
        (void)n, (void)ch, (void)h, (void)w;                                                       \
        if (condition) s.got[i] = (value);                                                         \
    }                                                                                              \
    f = find(c, &s, false)

CLAIM(pattern, places_are_told) {
    spoiled s;
    finding f;
    SPOIL(i == 17, s.got[i] + 1);
    expect_patterns(c, "one element", &f, "one_element");
    SPOIL(n == 1, draw_uniform(c, 3, 4));
    expect_patterns(c, "the second image", &f, "batch>0 last_block");
    SPOIL(n == 0 && ch != 2, draw_uniform(c, 3, 4));
    expect_patterns(c, "the first image", &f, "batch=0 first_block");
    SPOIL(ch == 1, draw_uniform(c, 3, 4));
    expect_patterns(c, "the second channel", &f, "one_channel channel>0");
    SPOIL(h == 0 || h == H - 1 || w == 0 || w == W - 1, draw_uniform(c, 3, 4));
    expect_patterns(c, "the rim", &f, "borders every_plane");
    SPOIL(h > 0 && h < H - 1 && w > 0 && w < W - 1, draw_uniform(c, 3, 4));
    expect_patterns(c, "all but the rim", &f, "interior every_plane");
    SPOIL(i >= SIZE - 13, draw_uniform(c, 3, 4));
    expect_patterns(c, "the last 13", &f, "batch>0 one_channel channel>0 last_block");
    SPOIL(i % 7 == 3, draw_uniform(c, 3, 4));
    expect_patterns(c, "every seventh", &f, "");
}

CLAIM(pattern, values_are_told) {
    spoiled s;
    finding f;
    SPOIL(true, 0);
    expect_patterns(c, "zeros", &f, "everything zero");
    SPOIL(true, -s.want[i]);
    expect_patterns(c, "the sign", &f, "everything negated");
    SPOIL(true, s.want[i] / 8);
    expect_patterns(c, "an eighth", &f, "everything constant_factor");
    expect_true(c, fabs(f.ratio - 0.125) < 1e-6, "the factor is %g", f.ratio);
    SPOIL(true, NAN);
    expect_patterns(c, "NaN", &f, "everything nan");
    SPOIL(i + 1 < SIZE, s.want[i + 1]);
    expect_patterns(c, "one to the left", &f, "first_block shifted");
    SPOIL(true, s.want[i - i % (H * W) + i % (H * W) % H * W + i % (H * W) / H]);
    expect_patterns(c, "planes stored by columns", &f, "every_plane transposed permuted");
    SPOIL(true, s.want[(i * 7 + 1) % SIZE]);
    expect_patterns(c, "another order", &f, "everything permuted");
}

CLAIM(pattern, what_was_there_before_is_told) {
    spoiled s = draw_spoiled(c);
    finding f;
    for (int i = 0; i < SIZE; i++) s.got[i] = s.want[i] - s.before[i];
    f = find(c, &s, true);
    expect_patterns(c, "overwritten", &f, "everything overwritten_not_added");
    for (int i = 0; i < SIZE; i++) s.got[i] = 2 * s.want[i] - s.before[i];
    f = find(c, &s, true);
    expect_patterns(c, "added twice", &f, "everything added_twice constant_factor");
    for (int i = 0; i < SIZE; i++) s.got[i] = s.want[i] + s.before[i];
    f = find(c, &s, true);
    expect_patterns(c, "twice what was there", &f, "everything before_twice");
    for (int i = 0; i < SIZE; i++) s.got[i] = s.before[i];
    f = find(c, &s, true);
    expect_patterns(c, "unchanged", &f, "everything unchanged");
    for (int i = 0; i < SIZE; i++) s.got[i] = s.before[i] + (s.want[i] - s.before[i]) / 6;
    f = find(c, &s, true);
    expect_patterns(c, "a mean instead of a sum", &f, "everything constant_factor");
    expect_true(c, fabs(f.ratio - 1.0 / 6) < 1e-6, "the factor is %g", f.ratio);
    for (int i = 0; i < SIZE; i++) s.got[i] = s.want[i] / 3;
    f = find(c, &s, true);
    expect_patterns(c, "divided after adding", &f, "everything whole_factor");
    expect_true(c, fabs(f.ratio - 1.0 / 3) < 1e-6, "the factor is %g", f.ratio);
    for (int i = 0; i < SIZE; i++) {
        int at = i % (H * W), from = i - at + at % H * W + at / H;
        s.got[i] = s.before[i] + s.want[from] - s.before[from];
    }
    f = find(c, &s, true);
    expect_patterns(c, "planes added by columns", &f, "every_plane transposed");
}

/* A matrix of 6 x 20, or a list as long: from row `row`, column `col` on its elements are wrong. */
static finding find_later_part(claim *c, expect_shape shape, int row, int col, bool again) {
    enum { ROWS = 6, COLS = 20, ALL = ROWS * COLS };
    double got[ALL], want[ALL], bound[ALL];
    const comparison x = {.shape = shape, .n = ALL, .got = got, .want = want, .bound = bound};
    finding f;
    finding_begin(&f, c, "mismatch");
    for (int i = 0; i < ALL; i++) {
        bool later = i / COLS >= row && i % COLS >= col;
        got[i] = want[i] = draw_uniform(c, 1, 2);
        bound[i] = 1e-9;
        if (later) got[i] = again ? want[i % (row * COLS)] : draw_uniform(c, 3, 4);
        f.wrong += later;
        f.worst = later ? (size_t)i : f.worst;
    }
    pattern_find(&f, &x);
    return f;
}

/* The first `done` of 900 are as they should be, the others as they were, but for the last one. */
static finding find_done(claim *c, size_t done, bool one_more) {
    enum { ALL = 900 };
    double got[ALL], want[ALL], before[ALL];
    const comparison x = {
        .shape = SHAPE(ALL), .n = ALL, .got = got, .want = want, .before = before};
    finding f;
    finding_begin(&f, c, "mismatch");
    for (size_t i = 0; i < ALL; i++) {
        before[i] = draw_uniform(c, 1, 2);
        want[i] = before[i] + (i % 5 ? draw_uniform(c, 1, 2) : 0); /* some get nothing */
        got[i] = i < done || (one_more && i == ALL - 1) ? want[i] : before[i];
        f.wrong += got[i] != want[i];
        f.worst = got[i] != want[i] ? i : f.worst;
    }
    pattern_find(&f, &x);
    return f;
}

static bool has_pattern(const finding *f, const char *name) {
    for (int i = 0; i < f->patterns; i++)
        if (strcmp(f->pattern[i], name) == 0) return true;
    return false;
}

CLAIM(pattern, what_begins_at_a_row_or_column_is_told) {
    finding f = find_later_part(c, SHAPE(6, 20), 0, 8, false);
    expect_patterns(c, "columns", &f, "later_columns");
    f = find_later_part(c, SHAPE(6, 20), 0, 1, false); /* a step between rows does that, too */
    expect_patterns(c, "all but the first column", &f, "last_block");
    f = find_later_part(c, SHAPE(6, 20), 4, 0, false);
    expect_patterns(c, "rows", &f, "last_block later_rows");
    f = find_later_part(c, SHAPE(120), 2, 0, true);
    expect_patterns(c, "a list that begins anew", &f, "last_block first_again");
    f = find_done(c, 768, false);
    expect_true(c, has_pattern(&f, "behind_the_grid"), "three blocks: not told");
    f = find_done(c, 512, false);
    expect_true(c, !has_pattern(&f, "behind_the_grid"), "two blocks: told as three");
    f = find_done(c, 800, false);
    expect_true(c, !has_pattern(&f, "behind_the_grid"), "more than three blocks: told");
    f = find_done(c, 768, true);
    expect_true(c, !has_pattern(&f, "behind_the_grid"), "one is done behind them: told");
}

/* From a row or column on each holds what stands that far before, too. */
CLAIM(pattern, what_is_kept_from_the_first_is_told) {
    enum { ROWS = 6, COLS = 20, ALL = ROWS * COLS };
    double got[ALL], want[ALL], before[ALL], bound[ALL];
    for (int by_row = 0; by_row < 2; by_row++)
        for (int added = 0; added < 2; added++) {
            comparison x = {.shape = SHAPE(ROWS, COLS), .n = ALL, .got = got, .want = want};
            finding f;
            finding_begin(&f, c, "mismatch");
            x.bound = bound;
            x.before = added ? before : NULL;
            for (int i = 0; i < ALL; i++) {
                int first = by_row ? i - 4 * COLS : i - 12;
                bool later = by_row ? i / COLS >= 4 : i % COLS >= 12;
                before[i] = draw_uniform(c, -2, -1);
                want[i] = draw_uniform(c, 1, 2);
                bound[i] = 1e-9;
                got[i] = want[i];
                if (later) got[i] += want[first] - (added ? before[first] : 0);
                f.wrong += later;
                f.worst = later ? (size_t)i : f.worst;
            }
            pattern_find(&f, &x);
            expect_patterns(c, by_row ? "rows" : "columns", &f,
                            by_row ? "last_block later_rows first_added"
                                   : "later_columns first_added");
        }
}

/* The plane of the worst element, in as many cells as there is room for. */
CLAIM(pattern, the_map_shows_where) {
    spoiled s;
    finding f;
    SPOIL(n == 1 && ch == 2 && (h == 0 || w == 4), 9);
    expect_true(c, f.map_lines == H, "%d lines", f.map_lines);
    static const char *const want[H] = {"#####", "....#", "....#", "....#"};
    for (int i = 0; i < H; i++)
        expect_true(c, !strcmp(f.map[i], want[i]), "line %d is %s, not %s", i, f.map[i], want[i]);
}

/* Around the worst element, as many as a window holds, of its own plane. */
CLAIM(pattern, numbers_around_the_worst_are_kept) {
    enum { ROWS = 20, COLS = 40, ALL = 2 * ROWS * COLS };
    double got[ALL], want[ALL];
    for (int i = 0; i < ALL; i++) got[i] = want[i] = i;
    const comparison x = {.shape = SHAPE(2, ROWS, COLS), .n = ALL, .got = got, .want = want};
    finding f;
    finding_begin(&f, c, "mismatch");
    f.wrong = 1;
    f.worst = ROWS * COLS + 18 * COLS + 3; /* row 18, column 3 of the second plane */
    got[f.worst] = -1;
    pattern_find(&f, &x);
    const finding_window *w = &f.window;
    expect_true(c, w->rows == WINDOW && w->cols == WINDOW, "%d by %d", w->rows, w->cols);
    expect_true(c, w->row == ROWS - WINDOW && w->col == 0, "from %d, %d", w->row, w->col);
    for (int i = 0; i < WINDOW; i++)
        for (int j = 0; j < WINDOW; j++) {
            int at = (ROWS + w->row + i) * COLS + w->col + j;
            bool worst = at == (int)f.worst;
            expect_true(c,
                        w->want[i][j] == at && w->got[i][j] == (worst ? -1 : at) &&
                            w->wrong[i][j] == worst,
                        "at %d, %d", i, j);
        }
}

/* A trait is named if the failed cases have it and the others lack it. */
CLAIM(pattern, traits_of_failed_cases_are_told) {
    claim other = {.trait = {{.name = "dilation", .failed = {0, 3}, .passed = {5, 0}},
                             {.name = "stride", .failed = {1, 2}, .passed = {2, 3}},
                             {.name = "nonsquare", .failed = {0, 3}, .passed = {1, 4}},
                             {.name = "batch", .failed = {0, 3}, .passed = {0, 5}}}};
    finding f;
    finding_begin(&f, c, "mismatch");
    pattern_over_cases(&f, &other);
    expect_patterns(c, "cases", &f, "dilation");
    finding_begin(&f, c, "bank_conflicts");
    pattern_over_cases(&f, &other);
    expect_patterns(c, "what a call costs", &f, "");
    /* six of eight cases are large, and the failed ones all padded */
    claim chance = {.trait = {{.name = "large", .failed = {0, 4}, .passed = {2, 2}},
                              {.name = "padding", .failed = {0, 4}, .passed = {4, 0}},
                              {.name = "channels", .failed = {0, 4}, .passed = {4, 0}}}};
    finding_begin(&f, c, "mismatch");
    pattern_over_cases(&f, &chance);
    expect_patterns(c, "by chance", &f, "padding");
    claim alone = {.trait = {{.name = "channels", .failed = {0, 4}, .passed = {4, 0}}}};
    finding_begin(&f, c, "mismatch");
    pattern_over_cases(&f, &alone);
    expect_patterns(c, "nothing else", &f, "channels");
}

/* All small cases passed, two of them at least, and all large ones failed; else there is none. */
CLAIM(pattern, limits_of_sizes_are_told) {
    claim cases = {.size = {{"rows", 3, 7, 4, -1}, {"k", 9, 5, 3, -1}}};
    const claim_size_limit *found = limits_found(&cases);
    expect_true(c, found == &cases.size[1], "the limit of k is not found");
    claim_size(&cases, "k", 12);
    limits_close(&cases); /* a large case that passed */
    expect_true(c, !limits_found(&cases), "there is none: 9 failed, 12 passed");
    claim one = {.size = {{"k", 9, 5, 1, -1}}};
    expect_true(c, !limits_found(&one), "a single case that passed");
}

/* Every second number is too large by a part in a hundred million, the others are too small: no
 * other order of the right numbers. */
CLAIM(pattern, digits_of_a_float_are_told_in_double) {
    spoiled s;
    finding f;
    SPOIL(true, s.want[i] * (1 + (i % 2 ? 1e-8 : -2e-8)));
    expect_patterns(c, "through a float", &f,
                    sizeof(tl_real) == sizeof(double) ? "float_digits" : "");
    SPOIL(true, s.want[i] * (1 + (i % 2 ? 1e-5 : -2e-5)));
    expect_patterns(c, "by more than that", &f, "everything");
    if (sizeof(tl_real) == sizeof(float)) return; /* it has no such digits to be moved by */
    SPOIL(true, s.want[i] + 1e-8);
    expect_patterns(c, "all by the same", &f, "everything");
}

/* Only where a file and its line begin a message: a sentence may have a colon, too. */
CLAIM(pattern, a_place_begins_a_message) {
    finding f;
    finding_begin(&f, c, "unnoticed");
    finding_place(&f, "7 of 10 broken versions are noticed (new: 2 in case 1)");
    expect_true(c, f.line == 0 && !f.file[0], "a sentence has become %s:%d", f.file, f.line);
    finding_place(&f, "labs/lab1/gemm.c:31: k is -1");
    expect_true(c, f.line == 31 && strcmp(f.file, "labs/lab1/gemm.c") == 0,
                "the place has become %s:%d", f.file, f.line);
}
