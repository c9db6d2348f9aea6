/* reduce_test.c: sums and maxima over rows, columns or everything. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/verdict.h"
#include "cases.h"

static const int shapes[][2] = {{3, 5},    {1, 1},   {1, 9},    {9, 1},    {7, 64},
                                {65, 10},  {33, 17}, {257, 31}, {31, 257}, {2, 1000},
                                {3, 2100}, {2100, 3}}; /* more than a block has threads */
#define FOR_SHAPES(rows, cols)                                                                     \
    for (size_t at_ = 0; at_ < sizeof shapes / sizeof *shapes; at_++)                              \
        for (int rows = shapes[at_][0], cols = shapes[at_][1]; rows; rows = 0)

static void reduce_case(claim *c, const call_target *t, const char *op, int rows, int cols) {
    claim_case(c, t, "%s of x[%d,%d]", op, rows, cols);
    claim_trait(c, "large", rows > 32 || cols > 32);
    claim_trait(c, "nonsquare", rows != cols);
}

/* Which of its terms a sum has too often, or lacks: the first `k` or the others, of all sums alike.
 * (Of two sums at least, so that chance does not name one.) */
static void tell_terms(claim *c, const tl_real *y, const double *want, const double *x,
                       const double *bound, size_t outs, size_t terms, bool rows_go) {
    double *head = doubles(c, outs);
    for (size_t k = 1; k < terms && outs > 1; k++) {
        bool twice = true, alone = true;
        for (size_t j = 0; j < outs; j++) {
            head[j] += rows_go ? x[(k - 1) * outs + j] : x[j * terms + k - 1];
            twice = twice && fabs(y[j] - want[j] - head[j]) <= 4 * bound[j];
            alone = alone && fabs(y[j] - head[j]) <= 4 * bound[j];
        }
        if (twice) finding_pattern_of_case(c, "first_twice");
        if (alone) finding_pattern_of_case(c, k == outs ? "other_length" : "last_missing");
        if (twice || alone) return;
    }
}

/* Do the terms of some rounds take part alone: of each 2, 4, 8, ... the first half? */
static void tell_rounds(claim *c, const tl_real *y, const double *x, const double *bound,
                        size_t outs, size_t terms, bool rows_go) {
    for (size_t round = 2; round / 2 < terms && round <= 1024; round *= 2) {
        bool halves = outs > 1;
        for (size_t j = 0; j < outs && halves; j++) {
            double sum = 0;
            for (size_t k = 0; k < terms; k++)
                if (k % round < round / 2) sum += rows_go ? x[k * outs + j] : x[j * terms + k];
            halves = fabs(y[j] - sum) <= 4 * bound[j];
        }
        if (halves) finding_pattern_of_case(c, "rounds_skipped");
        if (halves) return;
    }
}

/* What became of the elements that do not fill the last `lanes` of each sum: are they left out, or
 * do they stand where the first lanes' sums were? NULL: neither. */
static const char *rest_told(const tl_real *y, const double *want, const double *x,
                             const double *bound, size_t outs, size_t terms, size_t lanes) {
    size_t rest = terms % lanes;
    bool out = rest > 0, over = rest > 0 && terms > lanes;
    for (size_t j = 0; j < outs && (out || over); j++) {
        double last = 0, first = 0, near = bound[j] / (double)terms;
        for (size_t i = 0; i < terms; i++)
            if (i >= terms - rest)
                last += x[j * terms + i];
            else if (i % lanes < rest)
                first += x[j * terms + i];
        out = out && fabs(y[j] - want[j] + last) <= near;
        over = over && fabs(y[j] - want[j] + first) <= near;
    }
    return out ? "last_missing" : over ? "lanes_lost" : NULL;
}

/* Of sums along memory. */
static void tell_rest(claim *c, const tl_real *y, const double *want, const double *x,
                      const double *bound, size_t outs, size_t terms) {
    for (size_t lanes = 2; lanes <= 64; lanes *= 2) {
        const char *told = rest_told(y, want, x, bound, outs, terms, lanes);
        if (told) finding_pattern_of_case(c, told);
        if (told) return;
    }
}

/* Is a sum that of the first terms alone, as many as a block has threads? */
static bool has_begin_alone(double y, const double *x, double bound, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n && i < 1024; i++) {
        sum += x[i];
        if (i >= 31 && (i & (i + 1)) == 0 && i + 1 < n && fabs(y - sum) <= bound) return true;
    }
    return false;
}

static void expect_sum(claim *c, const call_target *t, size_t n) {
    if (!bound_judges(n)) return;
    call_report r;
    tl_real *x = draw_reals(c, n), y = 0, again = 0;
    double scale, *wide = widen(c, x, n), want = oracle_sum(wide, n, 1, &scale);
    double rough = oracle_sum(coarsen(c, wide, n), n, 1, NULL);
    claim_case(c, t, "sum of x[%zu]", n);
    claim_trait(c, "large", n > 64);
    claim_trait(c, "off_step", n % 64 != 0);
    claim_size(c, "n", (long long)n);
    double *bound = bound_of(c, &scale, 1, n);
    call_sum(t, &r, &y, x, n);
    expect_ok(c, &r);
    expect_close(c, "y", &y, &want, bound, SHAPE(1));
    if (c->case_failed) tell_rest(c, &y, &want, wide, bound, 1, n);
    if (c->case_failed && has_begin_alone((double)y, wide, *bound, n))
        finding_pattern_of_case(c, "begin_alone");
    if (n > 1 && fabs((double)y * (double)n - want) <= *bound)
        finding_pattern_of_case(c, "averaged");
    expect_sharp(c, &rough, &want, bound, 1);
    /* threads may come in another order, numbers may not */
    call_target elsewhere = claim_elsewhere(t);
    call_sum(&elsewhere, &r, &again, x, n);
    expect_ok(c, &r);
    expect_same_bits(c, "y", &again, &y, SHAPE(1));
}

CLAIM(lab1_reduce, sum_matches_definition) {
    static const size_t sizes[] = {7, 1, 2, 64, 255, 1000, 1024, 70001};
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) expect_sum(c, t, sizes[s]);
}

/* One after the other, n equal numbers lose a digit with every factor of ten (in float 0.1 added a
 * million times gives 100958); in chunks they do not. The claim proves that its bound tells both.
 */
CLAIM(lab1_reduce, long_sum_keeps_its_digits) {
    const size_t n = (size_t)1 << 20;
    call_report r;
    tl_real *x = reals(c, n), naive = 0;
    for (size_t i = 0; i < n; i++) naive += x[i] = TL_R(0.1);
    double want = (double)n * (double)TL_R(0.1), one_by_one = naive;
    double bound = 6 * sqrt((double)n) * bound_unit() * want;
    double of_row = (double)n / 32 * bound_unit() * want; /* a row may be summed by one warp */
    FOR_TARGETS (t) {
        tl_real y = 0, row = 0;
        claim_case(c, t, "sum of 2^20 times 0.1");
        call_sum(t, &r, &y, x, n);
        expect_ok(c, &r);
        expect_close(c, "y", &y, &want, &bound, SHAPE(1));
        if ((double)y == one_by_one) finding_pattern_of_case(c, "one_chain");
        claim_case(c, t, "sum_cols of x[1,2^20], all 0.1");
        call_sum_cols(t, &r, &row, x, 1, (int)n);
        expect_ok(c, &r);
        expect_close(c, "y", &row, &want, &of_row, SHAPE(1));
        if ((double)row == one_by_one) finding_pattern_of_case(c, "one_chain");
    }
    if (sizeof(tl_real) == sizeof(float)) expect_sharp(c, &one_by_one, &want, &bound, 1);
    if (sizeof(tl_real) == sizeof(float)) expect_sharp(c, &one_by_one, &want, &of_row, 1);
}

typedef void (*reduction)(call_where, call_report *, tl_real *, const tl_real *, int, int);
typedef void (*definition)(double *, double *, const double *, int, int);

/* Sums along either dimension: which of them go away decides how many terms there are. */
static void expect_sums(claim *c, const char *name, reduction call, definition oracle, bool rows_go,
                        int rows, int cols, const call_target *t) {
    size_t n = (size_t)rows * (size_t)cols, outs = (size_t)(rows_go ? cols : rows);
    size_t terms = n / outs;
    if (!bound_judges(terms)) return;
    call_report r;
    tl_real *x = draw_reals(c, n), *y = reals(c, outs), *again = reals(c, outs);
    double *want = doubles(c, outs), *scale = doubles(c, outs), *coarse = doubles(c, outs);
    oracle(want, scale, widen(c, x, n), rows, cols);
    oracle(coarse, NULL, coarsen(c, widen(c, x, n), n), rows, cols);
    reduce_case(c, t, name, rows, cols);
    claim_trait(c, "many_terms", terms > 32);
    claim_size(c, rows_go ? "rows" : "cols", (long long)terms);
    claim_size(c, rows_go ? "cols" : "rows", (long long)outs);
    double *bound = bound_of(c, scale, outs, terms);
    call(t, &r, y, x, rows, cols);
    expect_ok(c, &r);
    expect_close(c, "y", y, want, bound, SHAPE((int)outs));
    if (c->case_failed) tell_terms(c, y, want, widen(c, x, n), bound, outs, terms, rows_go);
    if (c->case_failed) tell_rounds(c, y, widen(c, x, n), bound, outs, terms, rows_go);
    if (c->case_failed && !rows_go) tell_rest(c, y, want, widen(c, x, n), bound, outs, terms);
    expect_sharp(c, coarse, want, bound, outs);
    call_target elsewhere = claim_elsewhere(t);
    call(&elsewhere, &r, again, x, rows, cols);
    expect_ok(c, &r);
    expect_same_bits(c, "y", again, y, SHAPE((int)outs));
}

CLAIM(lab1_reduce, sum_rows_matches_definition) {
    FOR_TARGETS (t)
        FOR_SHAPES (rows, cols)
            expect_sums(c, "sum_rows", call_sum_rows, oracle_sum_rows, true, rows, cols, t);
}

CLAIM(lab1_reduce, sum_cols_matches_definition) {
    FOR_TARGETS (t)
        FOR_SHAPES (rows, cols)
            expect_sums(c, "sum_cols", call_sum_cols, oracle_sum_cols, false, rows, cols, t);
}

void expect_all_sums(claim *c, const call_target *t, int rows, int cols) {
    expect_sum(c, t, (size_t)rows * (size_t)cols);
    expect_sums(c, "sum_rows", call_sum_rows, oracle_sum_rows, true, rows, cols, t);
    expect_sums(c, "sum_cols", call_sum_cols, oracle_sum_cols, false, rows, cols, t);
}

/* The maximum itself is wrong, perhaps after its place was: is it one of the row's numbers? */
static void tell_maximum(claim *c, const tl_real *y, const double *x, int rows, int cols) {
    bool all_in_row = true;
    for (int i = 0; i < rows; i++) {
        bool in_row = false;
        for (int j = 0; j < cols; j++) in_row = in_row || (double)y[i] == x[i * cols + j];
        all_in_row = all_in_row && in_row;
    }
    finding_pattern(c->finding, all_in_row ? "maximum_too" : "not_in_the_row");
}

/* Is each result the largest of its row without the last column? (Of two wrong ones at least, so
 * that chance does not name it.) */
static void tell_last_unseen(claim *c, const tl_real *y, const double *x, int rows, int cols) {
    bool all = c->finding->wrong > 1;
    for (int i = 0; i < rows && all; i++) {
        double largest = -INFINITY;
        for (int j = 0; j < cols - 1; j++) largest = fmax(largest, x[i * cols + j]);
        all = (double)y[i] == largest;
    }
    if (all) finding_pattern_of_case(c, "last_unseen");
}

/* The maxima of these rows, and where the first of equal ones stands. */
void expect_maxima(claim *c, const call_target *t, const tl_real *x, int rows, int cols) {
    call_report r;
    size_t n = (size_t)rows * (size_t)cols;
    tl_real *y = reals(c, (size_t)rows);
    double *wide = widen(c, x, n), *want = doubles(c, (size_t)rows);
    int32_t *where = ints(c, (size_t)rows), *got = ints(c, (size_t)rows);
    for (int i = 0; i < rows; i++) {
        where[i] = oracle_argmax(wide + (size_t)i * (size_t)cols, cols);
        want[i] = wide[(size_t)i * (size_t)cols + (size_t)where[i]];
    }
    reduce_case(c, t, "max_cols", rows, cols);
    claim_trait(c, "low", x[0] < TL_R(-1e36));
    call_max_cols(t, &r, y, x, rows, cols);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE(rows));
    if (c->case_failed && c->finding) {
        tell_maximum(c, y, wide, rows, cols);
        tell_last_unseen(c, y, wide, rows, cols);
    }
    reduce_case(c, t, "argmax_cols", rows, cols);
    claim_trait(c, "low", x[0] < TL_R(-1e36));
    call_argmax_cols(t, &r, got, x, rows, cols);
    expect_ok(c, &r);
    expect_ints(c, "y", got, where, SHAPE(rows));
}

/* Of negative numbers full of ties. */
static void expect_winners(claim *c, const call_target *t, int rows, int cols) {
    size_t n = (size_t)rows * (size_t)cols;
    tl_real *x = reals(c, n);
    for (size_t i = 0; i < n; i++) x[i] = (tl_real)draw_int(c, -6, -1);
    expect_maxima(c, t, x, rows, cols);
}

/* Of numbers below any that a maximum may begin with, the last row of the least ones there are. */
static void expect_low_winners(claim *c, const call_target *t) {
    enum { ROWS = 4, COLS = 37 };
    tl_real *x = reals(c, ROWS * COLS);
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = i / COLS == ROWS - 1 ? (tl_real)-INFINITY : (tl_real)(draw_int(c, -6, -1) * 1e37);
    expect_maxima(c, t, x, ROWS, COLS);
}

CLAIM(lab1_reduce, max_and_argmax_name_the_first_winner) {
    FOR_TARGETS (t) {
        FOR_SHAPES (rows, cols) {
            expect_winners(c, t, rows, cols);
        }
        expect_low_winners(c, t);
    }
}

/* A net that has diverged must show: nothing is larger than a NaN, and of several the first counts.
 * One NaN in a row comes first, then two in some of them: what fails says which of the two it is.
 */
static void expect_nan(claim *c, const call_target *t, bool several) {
    enum { ROWS = 5, COLS = 300 };
    static const int first[ROWS] = {0, COLS - 1, 129, 31, -1}; /* in each row; -1: none */
    const char *many = several ? ", two in two of them" : "";
    call_report r;
    tl_real *x = draw_reals(c, ROWS * COLS), y[ROWS];
    int32_t got[ROWS], where[ROWS];
    double want[ROWS], *wide = widen(c, x, ROWS * COLS);
    for (int i = 0; i < ROWS; i++) {
        where[i] = first[i] < 0 ? oracle_argmax(wide + i * COLS, COLS) : first[i];
        want[i] = first[i] < 0 ? wide[i * COLS + where[i]] : (double)NAN;
        if (first[i] >= 0) x[i * COLS + first[i]] = (tl_real)NAN;
    }
    /* in a tree of threads the first is asked about the second, and the second about the first */
    if (several) x[2 * COLS + 201] = x[3 * COLS + 32] = (tl_real)NAN;
    x[0 * COLS + 7] = x[3 * COLS + 7] = (tl_real)INFINITY;
    claim_case(c, t, "max_cols of x[%d,%d] with NaN in four rows%s", ROWS, COLS, many);
    claim_trait(c, "several_nan", several);
    call_max_cols(t, &r, y, x, ROWS, COLS);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE(ROWS));
    claim_case(c, t, "argmax_cols of x[%d,%d] with NaN in four rows%s", ROWS, COLS, many);
    claim_trait(c, "several_nan", several);
    call_argmax_cols(t, &r, got, x, ROWS, COLS);
    expect_ok(c, &r);
    expect_ints(c, "y", got, where, SHAPE(ROWS));
}

CLAIM(lab1_reduce, nan_wins_over_numbers) {
    FOR_TARGETS (t)
        for (int several = 0; several < 2; several++) expect_nan(c, t, several);
}

static threads_result reduce_all(claim *c, const call_target *t, int which) {
    enum { ROWS = 1009, COLS = 97, N = ROWS * COLS }; /* small sums may stay on one thread */
    call_report r;
    tl_real *x = draw_reals(c, N), *y = reals(c, 1 + ROWS + COLS);
    (void)which;
    claim_case(c, t, "sum, sum_rows, sum_cols of x[%d,%d]", (int)ROWS, (int)COLS);
    call_sum(t, &r, y, x, N);
    expect_ok(c, &r);
    call_sum_rows(t, &r, y + 1, x, ROWS, COLS);
    expect_ok(c, &r);
    call_sum_cols(t, &r, y + 1 + COLS, x, ROWS, COLS);
    expect_ok(c, &r);
    return (threads_result){"all sums", y, SHAPE(1 + ROWS + COLS)};
}

CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(lab1_reduce, reduce_all, 1)

static void reduce_once(claim *c, const call_target *t, int which) {
    if (which == 0) expect_sum(c, t, 700);
    if (which == 1) expect_sums(c, "sum_rows", call_sum_rows, oracle_sum_rows, true, 37, 331, t);
    if (which == 2) expect_sums(c, "sum_cols", call_sum_cols, oracle_sum_cols, false, 331, 41, t);
    if (which == 3) expect_winners(c, t, 5, 300);
}

static void reduce_small(claim *c, const call_target *t, int which) {
    call_target failing = launches_failing(t), recorded = recorded_step(t);
    reduce_once(c, &failing, which);
    reduce_once(c, &recorded, which);
}

CLAIM_NO_TWO_THREADS_MEET(lab1_reduce, reduce_small, 4)
