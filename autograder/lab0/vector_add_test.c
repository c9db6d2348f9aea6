/* vector_add_test.c: the sum of two vectors. One rounding: compared exactly. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/device_claims.h"

static const int sizes[] = {7, 1, 255, 256, 257, 1000, 70001};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void expect_sum(claim *c, const call_target *t, tl_real *y, const tl_real *a,
                       const tl_real *b, size_t n) {
    call_report r;
    double *want = doubles(c, n);
    for (size_t i = 0; i < n; i++) want[i] = (tl_real)((double)a[i] + (double)b[i]);
    call_vector_add(t, &r, y, a, b, n);
    expect_ok(c, &r);
    expect_equal(c, "y", y, want, SHAPE((int)n));
}

CLAIM(lab0_vector_add, every_element_is_added) {
    FOR_TARGETS (t)
        for (int s = 0; s < SIZES; s++) {
            size_t n = (size_t)sizes[s];
            claim_case(c, t, "vector_add of [%zu]", n);
            claim_trait(c, "off_tile", n % 256 != 0);
            expect_sum(c, t, reals(c, n), draw_reals(c, n), draw_reals(c, n), n);
        }
}

CLAIM(lab0_vector_add, the_result_may_be_an_operand) {
    FOR_TARGETS (t) {
        call_target failing = launches_failing(t);
        tl_real *a = draw_reals(c, 1000), *b = draw_reals(c, 1000);
        claim_case(c, t, "vector_add of [1000], y is a");
        expect_sum(c, &failing, a, a, b, 1000);
        claim_case(c, t, "vector_add of [1000], y is b");
        expect_sum(c, t, b, a, b, 1000);
    }
}
