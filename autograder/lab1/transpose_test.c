/* transpose_test.c: rows become columns. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/cost.h"
#include "autograder/claim/device_claims.h"
#include "autograder/claim/expect.h"
#include "cases.h"

/* Copies: exact. */
void expect_transposed(claim *c, const call_target *t, int rows, int cols) {
    call_report r;
    size_t n = (size_t)rows * (size_t)cols;
    tl_real *x = draw_reals(c, n), *y = reals(c, n);
    double *want = doubles(c, n);
    oracle_transpose(want, widen(c, x, n), rows, cols);
    claim_case(c, t, "transpose of x[%d,%d]", rows, cols);
    claim_trait(c, "nonsquare", rows != cols);
    claim_trait(c, "off_tile", rows % 16 || cols % 16);
    claim_size(c, "the longer side", rows > cols ? rows : cols);
    call_transpose(t, &r, y, x, rows, cols);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE(cols, rows));
}

/* Shapes around the usual tile of 32. The first is square: what fails there is no matter of whose
 * rows are how long. */
CLAIM(lab1_transpose, rows_become_columns) {
    static const int shapes[][2] = {{5, 5},  {3, 5},   {1, 1},   {1, 17},
                                    {17, 1}, {32, 32}, {33, 65}, {130, 7}};
    FOR_TARGETS (t)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            expect_transposed(c, t, shapes[s][0], shapes[s][1]);
}

/* Five rows of tiles for three blocks: a block loads a tile over one that it has stored. The second
 * call is recorded. */
static void transpose_small(claim *c, const call_target *t, int which) {
    call_target failing = launches_failing(t), recorded = recorded_step(t);
    (void)which;
    expect_transposed(c, &failing, 131, 34);
    expect_transposed(c, &recorded, 131, 34);
}

CLAIM_NO_TWO_THREADS_MEET(lab1_transpose, transpose_small, 1)

/* A copy element by element is right, and either its loads or its stores jump. */
CLAIM(lab1_transpose, a_warp_moves_neighbours) {
    FOR_TARGETS (t) {
        call_target counted = counting(t);
        expect_transposed(c, &counted, TL_TRANSPOSE_ROWS, TL_TRANSPOSE_COLS);
        expect_cost(c, t,
                    &(cost){.which = CALL_SECTORS,
                            .what = "sectors of global memory",
                            .allowed = TL_TRANSPOSE_SECTORS,
                            .least = TL_TRANSPOSE_LEAST,
                            .arrays = "x and y"});
    }
}
