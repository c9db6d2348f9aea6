/* fused_xent_test.c: softmax, cross-entropy and metrics in one kernel, entry by entry (tl/fused.h).
 */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"

#include <string.h>

static bool has_fused(const call_target *t) {
    return strcmp(t->device, "cpu") != 0 && strcmp(t->rungs, "all") == 0;
}

/* rows and classes, the latter around what a thread keeps in registers */
static const int heads[][2] = {{1, 1},    {7, 3},    {64, 10},  {100, 2},
                               {256, 16}, {257, 17}, {600, 10}, {3, 64}};
enum { HEADS = sizeof heads / sizeof *heads };

static void expect_no_head(claim *c, const call_target *t) {
    call_report r;
    tl_real loss, row_loss, prob, logits = 0;
    tl_metric_sums sums = {0};
    const int32_t label = 0;
    claim_case(c, t, "xent_head_fwd of logits[1,1]");
    call_xent_head_fwd(t, &r, &loss, &row_loss, &prob, &sums, &logits, &label, 1, 1);
    expect_status(c, &r, TL_ENOTIMPL);
}

/* softmax_xent_fwd with rungs is judged against the definition in lab 3; the head's numbers have
 * the same bits, and its sums are those of the rows, added in double in image order. */
CLAIM(fused_xent, the_head_is_softmax_cross_entropy_and_metrics) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_no_head(c, t);
        for (int s = 0; has_fused(t) && s < HEADS; s++) {
            int rows = heads[s][0], classes = heads[s][1];
            size_t m = (size_t)rows, n = m * (size_t)classes;
            call_report r;
            tl_metric_sums sums = {.loss = 12.5, .hits = 3, .count = 5}, want = sums;
            tl_real *logits = draw_between(c, n, -4, 4), *prob = reals(c, n), *prob2 = reals(c, n);
            tl_real *row = reals(c, m), *row2 = reals(c, m), loss, loss2;
            int32_t *label = draw_labels(c, m, classes);
            /* ties, so that the smallest class is seen to win */
            for (size_t i = 0; i < n; i += 2) logits[i] = (tl_real)draw_int(c, -2, 4);
            claim_case(c, t, "xent_head_fwd of logits[%d,%d]", rows, classes);
            call_xent_head_fwd(t, &r, &loss, row, prob, &sums, logits, label, rows, classes);
            expect_ok(c, &r);
            call_softmax_xent_fwd(t, &r, &loss2, row2, prob2, logits, label, rows, classes);
            expect_ok(c, &r);
            expect_same_bits(c, "loss", &loss, &loss2, SHAPE(1));
            expect_same_bits(c, "row_loss", row, row2, SHAPE(rows));
            expect_same_bits(c, "prob", prob, prob2, SHAPE(rows, classes));
            double *wide = widen(c, logits, n);
            for (int i = 0; i < rows; i++) {
                want.loss += row[i];
                want.hits += oracle_argmax(wide + i * classes, classes) == label[i];
                want.count++;
            }
            expect_number(c, "sum of losses", sums.loss, want.loss, 0);
            expect_true(c, sums.hits == want.hits && sums.count == want.count,
                        "%llu hits of %llu, expected %llu of %llu", (unsigned long long)sums.hits,
                        (unsigned long long)sums.count, (unsigned long long)want.hits,
                        (unsigned long long)want.count);
        }
    }
}

CLAIM(fused_xent, the_gradient_matches_the_definition_and_overwrites) {
    FOR_TARGETS (t) {
        if (!has_fused(t)) expect_no_head(c, t);
        for (int s = 0; has_fused(t) && s < HEADS; s++) {
            int rows = heads[s][0], classes = heads[s][1];
            size_t n = (size_t)rows * (size_t)classes;
            call_report r;
            tl_real dloss = (tl_real)draw_uniform(c, 0.5, 2), *prob = draw_between(c, n, 0, 1);
            tl_real *dlogits = reals(c, n);
            int32_t *label = draw_labels(c, (size_t)rows, classes);
            double *want = doubles(c, n), *scale = doubles(c, n), *rough = doubles(c, n);
            double *wide = widen(c, prob, n), *few = coarsen(c, wide, n);
            oracle_softmax_xent_bwd(want, scale, dloss, wide, label, rows, classes);
            oracle_softmax_xent_bwd(rough, NULL, dloss, few, label, rows, classes);
            double *bound = bound_of(c, scale, n, 6); /* as in lab3_softmax_test.c */
            claim_case(c, t, "xent_head_bwd of prob[%d,%d]", rows, classes);
            call_xent_head_bwd(t, &r, dlogits, &dloss, prob, label, rows, classes);
            expect_ok(c, &r);
            expect_close(c, "dlogits", dlogits, want, bound, SHAPE(rows, classes));
            expect_sharp(c, rough, want, bound, n);
        }
    }
}
