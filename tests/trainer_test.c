/* trainer_test.c: what a failure in the middle of the training loop (tl/train.h) leaves behind. */
#include "trainer_fixture.h"

TestSuite(trainer, .init = setup, .fini = teardown);

static tl_real *weights_of(rig *r) {
    const size_t size = r->params->size * sizeof(tl_real);
    tl_real *host = malloc(size);
    cr_assert_not_null(host);
    EXPECT_OK(r->ctx->ops->copy_out(r->ctx, host, r->params->value, size));
    return host;
}

/* Evaluates a net that does not take these images: its forward fails in the first batch. */
static void evaluation_fails(rig *r) {
    tl_metrics test;
    tl_module *other, *net = r->tr.net;
    tl_module_seed from = {.seed = 1};
    EXPECT_OK(tl_module_linear(&other, r->ctx, 5, CLASSES, &from));
    r->tr.net = other;
    cr_assert_eq(tl_evaluate(&r->tr, &r->tr.test, &test), TL_ESHAPE, "%s", tl_error());
    r->tr.net = net;
    tl_module_free(other);
}

/* An evaluation does not record, and must not leave it at that when forward fails: the next step of
 * the run would have no gradients. */
Test(trainer, a_failed_evaluation_leaves_recording_as_it_was) {
    rig r, untouched;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    open_rig(&untouched, TL_OPTIMIZER_SGD, 1);
    EXPECT_OK(train_one_epoch(&r));
    EXPECT_OK(train_one_epoch(&untouched));
    evaluation_fails(&r);
    cr_expect(tl_tape_set_recording(r.tr.tape, false), "recording is off after the failure");
    evaluation_fails(&r);
    cr_expect(!tl_tape_set_recording(r.tr.tape, true), "recording is on, and was off before");
    EXPECT_OK(train_one_epoch(&r));
    EXPECT_OK(train_one_epoch(&untouched));
    tl_real *got = weights_of(&r), *want = weights_of(&untouched);
    cr_expect_eq(memcmp(got, want, r.params->size * sizeof *got), 0, "other weights than without");
    free(got);
    free(want);
    close_rig(&r);
    close_rig(&untouched);
}
