/* metrics_test.c: sums of losses and hits. Given code. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/expect.h"

/* Losses are added in double in image order, on top of what was there: one right answer. Of equal
 * scores the smallest class counts. */
CLAIM(metrics, losses_and_hits_add_up) {
    static const int shapes[][2] = {{1, 1}, {7, 3}, {64, 10}, {100, 2}, {301, 10}};
    FOR_TARGETS (t)
        for (int s = 0; s < 5; s++) {
            int rows = shapes[s][0], classes = shapes[s][1];
            size_t n = (size_t)rows * (size_t)classes;
            tl_metric_sums sums = {.loss = 12.5, .hits = 3, .count = 5}, want = sums;
            tl_real *row_loss = draw_between(c, (size_t)rows, 0, 5), *score = reals(c, n);
            int32_t *label = draw_labels(c, (size_t)rows, classes);
            for (size_t i = 0; i < n; i++) score[i] = (tl_real)draw_int(c, -2, 2); /* many ties */
            double *score_d = widen(c, score, n);
            for (int i = 0; i < rows; i++) {
                want.loss += row_loss[i];
                want.hits += oracle_argmax(score_d + i * classes, classes) == label[i];
                want.count++;
            }
            call_report r;
            claim_case(c, t, "metrics_add of score[%d,%d]", rows, classes);
            call_metrics_add(t, &r, &sums, row_loss, score, label, rows, classes);
            expect_ok(c, &r);
            expect_number(c, "loss", sums.loss, want.loss, 0);
            expect_true(c, sums.hits == want.hits, "hits %llu, expected %llu",
                        (unsigned long long)sums.hits, (unsigned long long)want.hits);
            expect_true(c, sums.count == want.count, "count %llu, expected %llu",
                        (unsigned long long)sums.count, (unsigned long long)want.count);
        }
}
