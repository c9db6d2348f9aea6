/* vector_reverse_test.c: a vector backwards; the given kernel lacks a barrier. */
#include "autograder/call/call_ops.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/device_claims.h"

#include <string.h>

CLAIM(lab0_vector_reverse, no_thread_reads_what_another_has_not_written) {
    static const int sizes[] = {256, 7, 1000, 513};
    FOR_TARGETS (t)
        for (int s = 0; s < 4; s++) {
            call_report r;
            call_target failing = launches_failing(t);
            size_t n = (size_t)sizes[s];
            tl_real *x = draw_reals(c, n), *y = reals(c, n);
            double *want = doubles(c, n);
            for (size_t i = 0; i < n; i++) want[i] = x[n - 1 - i];
            claim_case(c, t, "vector_reverse of [%zu]", n);
            call_vector_reverse(&failing, &r, y, x, n);
            if (strcmp(t->device, "cpu") == 0) { /* not on the cpu, and it says so */
                expect_status(c, &r, TL_ENOTIMPL);
                continue;
            }
            expect_ok(c, &r);
            expect_equal(c, "y", y, want, SHAPE((int)n));
        }
}
