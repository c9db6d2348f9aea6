/* checkpoint_test.c: claims about checkpoints (tl/checkpoint.h): a run goes on as if it had never
 * stopped, and a file that does not fit changes nothing. */
#include "trainer_fixture.h"

TestSuite(checkpoint, .init = setup, .fini = teardown);

static const char options[] = "net=tiny seed=77";

/* The state of a run as the bytes of its checkpoint. */
static bytes state_of(rig *r) {
    EXPECT_OK(tl_checkpoint_save(&r->tr, path, options));
    return load();
}

static void expect_equal(bytes a, bytes b) {
    cr_assert_eq(a.size, b.size);
    for (size_t i = 0; i < a.size; i++)
        cr_assert_eq(a.at[i], b.at[i], "byte %zu of %zu differs", i, a.size);
}

/* Stops after `stop` steps, goes on in another process's worth of fresh memory (other initial
 * weights, so that nothing can be right by accident), and ends where the unbroken run ends. */
static void resume_gives_same_bits(tl_optimizer_kind kind, uint64_t stop) {
    enum { END = 2 * EPOCH_STEPS + 3 };
    rig whole, before, after;
    open_rig(&whole, kind, 1);
    train_until(&whole, END);
    bytes want = state_of(&whole);

    open_rig(&before, kind, 1);
    train_until(&before, stop);
    bytes stopped = state_of(&before);
    close_rig(&before);

    open_rig(&after, kind, 2);
    after.tr.seed = 5;
    EXPECT_OK(tl_checkpoint_load(&after.tr, path, options));
    bytes loaded = state_of(&after);
    expect_equal(loaded, stopped);
    train_until(&after, END);
    bytes got = state_of(&after);
    expect_equal(got, want);

    free(want.at);
    free(stopped.at);
    free(loaded.at);
    free(got.at);
    close_rig(&whole);
    close_rig(&after);
}

Test(checkpoint, sgd_resumes_bit_for_bit_from_every_step) {
    for (uint64_t stop = 1; stop <= EPOCH_STEPS + 1; stop++)
        resume_gives_same_bits(TL_OPTIMIZER_SGD, stop);
}

Test(checkpoint, adam_resumes_bit_for_bit_from_every_step) {
    for (uint64_t stop = 1; stop <= EPOCH_STEPS + 1; stop++)
        resume_gives_same_bits(TL_OPTIMIZER_ADAM, stop);
}

/* The epoch's mean loss counts the images before the break, too. */
Test(checkpoint, sums_of_a_broken_epoch_go_on) {
    rig whole, broken, after;
    tl_metrics want, got;
    open_rig(&whole, TL_OPTIMIZER_SGD, 1);
    EXPECT_OK(tl_train_epoch(&whole.tr));
    EXPECT_OK(tl_metrics_read(whole.ctx, &want, whole.tr.sums));
    open_rig(&broken, TL_OPTIMIZER_SGD, 1);
    train_until(&broken, 3);
    EXPECT_OK(tl_checkpoint_save(&broken.tr, path, options));
    open_rig(&after, TL_OPTIMIZER_SGD, 2);
    EXPECT_OK(tl_checkpoint_load(&after.tr, path, options));
    EXPECT_OK(tl_train_epoch(&after.tr));
    EXPECT_OK(tl_metrics_read(after.ctx, &got, after.tr.sums));
    cr_assert_eq(got.count, IMAGES);
    cr_assert(got.loss == want.loss && got.accuracy == want.accuracy);
    close_rig(&whole);
    close_rig(&broken);
    close_rig(&after);
}

/* What the epochs before the break came to is there afterwards, and in a run that had a history of
 * its own nothing of that is left. */
Test(checkpoint, history_is_that_of_the_whole_run) {
    rig whole, before, after;
    open_rig(&whole, TL_OPTIMIZER_ADAM, 1);
    open_rig(&before, TL_OPTIMIZER_ADAM, 1);
    open_rig(&after, TL_OPTIMIZER_ADAM, 2);
    train_until(&whole, 3 * EPOCH_STEPS + 1);
    train_until(&before, 2 * EPOCH_STEPS + 2);
    train_until(&after, 3 * EPOCH_STEPS + 3);
    EXPECT_OK(tl_checkpoint_save(&before.tr, path, options));
    EXPECT_OK(tl_checkpoint_load(&after.tr, path, options));
    cr_assert_eq(after.tr.history.epochs, 2);
    train_until(&after, 3 * EPOCH_STEPS + 1);
    const tl_history *want = &whole.tr.history, *got = &after.tr.history;
    cr_assert(want->epochs == 3 && got->epochs == 3, "%u and %u epochs", want->epochs, got->epochs);
    cr_assert_eq(memcmp(got->epoch, want->epoch, 3 * sizeof *got->epoch), 0);
    for (int i = 0; i < 3; i++)
        cr_assert(want->epoch[i].train_loss > 0 && want->epoch[i].test_loss > 0);
    close_rig(&whole);
    close_rig(&before);
    close_rig(&after);
}

/* A file that no reader would take is not written: the one that is there stays. */
Test(checkpoint, history_of_another_length_is_not_saved) {
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    bytes sound = state_of(&r);
    EXPECT_OK(tl_train_epoch(&r.tr));
    cr_assert_eq(tl_checkpoint_save(&r.tr, path, options), TL_EINVAL);
    cr_assert(strstr(tl_error(), "1 epochs are done, but the history holds 0"), "%s", tl_error());
    bytes left = load();
    expect_equal(left, sound);
    free(sound.at);
    free(left.at);
    close_rig(&r);
}

Test(checkpoint, evaluation_leaves_no_trace) {
    rig r;
    tl_metrics test;
    open_rig(&r, TL_OPTIMIZER_ADAM, 1);
    EXPECT_OK(train_one_epoch(&r));
    bytes before = state_of(&r);
    EXPECT_OK(tl_evaluate(&r.tr, &r.tr.test, &test));
    bytes after = state_of(&r);
    expect_equal(after, before);
    free(before.at);
    free(after.at);
    close_rig(&r);
}

/* ---- files that do not fit ---------------------------------------------------------------------
 */

/* One change to a checkpoint whose CRCs are all right: a section left out, given other dims or
 * another dtype, or one added. */
typedef struct edit {
    const char *section, *rename; /* rename: NULL leaves the section out */
    tl_dtype dtype;
    int ndim;
    uint64_t dim[4];
    const char *added;
} edit;

static void rewrite(const edit *e) {
    static const double zeros[512];
    tl_record *r;
    tl_writer *w;
    EXPECT_OK(tl_record_read(&r, path));
    EXPECT_OK(tl_writer_open(&w, path));
    int edited = 0;
    for (int i = 0; i < r->sections; i++) {
        const tl_section *s = &r->section[i];
        if (e->section == NULL || strcmp(s->name, e->section) != 0) {
            EXPECT_OK(tl_writer_add(w, s->name, s->dtype, s->ndim, s->dim, s->data));
        } else {
            edited = 1;
            if (e->rename != NULL)
                EXPECT_OK(tl_writer_add(w, e->rename, e->dtype, e->ndim, e->dim, zeros));
        }
    }
    if (e->added) EXPECT_OK(tl_writer_add(w, e->added, TL_U8, 1, (uint64_t[]){1}, zeros));
    cr_assert(edited || e->added, "%s: no such section", e->section);
    EXPECT_OK(tl_writer_commit(&w));
    tl_record_free(r);
}

static void expect_load_refused(rig *r, const char *line, tl_status want, const char *word) {
    bytes file = load();
    bytes before = state_of(r);
    store(file.at, file.size);
    cr_assert_eq(tl_checkpoint_load(&r->tr, path, line), want, "%s", word);
    cr_assert(strstr(tl_error(), word), "\"%s\" expected in: %s", word, tl_error());
    cr_assert(strstr(tl_error(), path), "the file should be named in: %s", tl_error());
    bytes after = state_of(r);
    expect_equal(after, before);
    free(file.at);
    free(before.at);
    free(after.at);
}

#define REAL       TL_DTYPE_REAL
#define OTHER_REAL (TL_DTYPE_REAL == TL_F32 ? TL_F64 : TL_F32)

Test(checkpoint, files_that_do_not_fit_change_nothing) {
    static const struct {
        edit change;
        tl_status status;
        const char *word;
    } cases[] = {
        {{"w/0.conv2d.weight", NULL, 0, 0, {0}, NULL},
         TL_EFORMAT,
         "no section \"w/0.conv2d.weight\""},
        {{"s1/0.conv2d.bias", NULL, 0, 0, {0}, NULL},
         TL_EFORMAT,
         "no section \"s1/0.conv2d.bias\""},
        {{"b/1.batchnorm2d.running_var", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "running_var"},
        {{"position", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "no section \"position\""},
        {{"sums/loss", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "no section \"sums/loss\""},
        {{"sums/hits", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "no section \"sums/hits\""},
        {{"options", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "holds no options"},
        {{"w/0.conv2d.weight", "w/0.conv2d.weight", REAL, 4, {3, 3, 3, 1}, NULL},
         TL_EFORMAT,
         "another shape than [3,1,3,3]"},
        {{"w/0.conv2d.bias", "w/0.conv2d.bias", REAL, 1, {4}, NULL},
         TL_EFORMAT,
         "4 elements, 3 wanted"},
        {{"s0/0.conv2d.bias", "s0/0.conv2d.bias", TL_U32, 1, {3}, NULL}, TL_EFORMAT, "holds u32"},
        {{"w/0.conv2d.bias", "w/0.conv2d.bias", OTHER_REAL, 1, {3}, NULL}, TL_EINVAL, "REAL="},
        {{"w/0.conv2d.bias", "w/0.conv2d.bios", REAL, 1, {3}, NULL}, TL_EFORMAT, "no section"},
        {{NULL, NULL, 0, 0, {0}, "extra"}, TL_EFORMAT, "sections"},
        {{"history", NULL, 0, 0, {0}, NULL}, TL_EFORMAT, "no section \"history\""},
        {{"history", "history", TL_F64, 2, {1, 4}, NULL}, TL_EFORMAT, "4 elements, 8 wanted"},
        {{"history", "history", TL_F64, 2, {3, 4}, NULL}, TL_EFORMAT, "12 elements, 8 wanted"},
        {{"history", "history", TL_F64, 1, {8}, NULL}, TL_EFORMAT, "another shape than [2,4]"},
        {{"history", "history", TL_F64, 2, {4, 2}, NULL}, TL_EFORMAT, "another shape than [2,4]"},
        {{"history", "history", TL_F32, 2, {2, 4}, NULL}, TL_EFORMAT, "holds f32"},
    };
    rig saved, other;
    open_rig(&saved, TL_OPTIMIZER_ADAM, 1);
    open_rig(&other, TL_OPTIMIZER_ADAM, 2);
    train_until(&saved, 2 * EPOCH_STEPS + 3);
    train_until(&other, 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_OK(tl_checkpoint_save(&saved.tr, path, options));
        rewrite(&cases[i].change);
        expect_load_refused(&other, options, cases[i].status, cases[i].word);
    }
    saved.tr.first = IMAGES + 1;
    EXPECT_OK(tl_checkpoint_save(&saved.tr, path, options));
    expect_load_refused(&other, options, TL_EFORMAT, "an epoch has 23 images");
    saved.tr.first = 0;
    saved.tr.history.epoch[1].test_acc = 1.5;
    EXPECT_OK(tl_checkpoint_save(&saved.tr, path, options));
    expect_load_refused(&other, options, TL_EFORMAT, "an accuracy outside 0..1 for epoch 2");
    saved.tr.epoch = saved.tr.history.epochs = 0;
    EXPECT_OK(tl_checkpoint_save(&saved.tr, path, options));
    rewrite(&(edit){.added = "history"}); /* in its first epoch a run has none */
    expect_load_refused(&other, options, TL_EFORMAT, "sections");
    close_rig(&saved);
    close_rig(&other);
}

Test(checkpoint, other_options_are_named_and_change_nothing) {
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    train_until(&r, 2);
    EXPECT_OK(tl_checkpoint_save(&r.tr, path, "net=a lr=0.1"));
    expect_load_refused(&r, "net=a lr=0.2", TL_EINVAL, "it has lr=0.1, this run lr=0.2");
    EXPECT_OK(tl_checkpoint_save(&r.tr, path, "net=a lr=0.1"));
    expect_load_refused(&r, "net=a lr=0.1 more", TL_EINVAL, "it has nothing, this run more");
    close_rig(&r);
}

Test(checkpoint, a_checkpoint_of_another_optimiser_is_refused) {
    rig sgd, adam;
    open_rig(&sgd, TL_OPTIMIZER_SGD, 1);
    open_rig(&adam, TL_OPTIMIZER_ADAM, 1);
    EXPECT_OK(tl_checkpoint_save(&adam.tr, path, options));
    expect_load_refused(&sgd, options, TL_EFORMAT, "sections");
    EXPECT_OK(tl_checkpoint_save(&sgd.tr, path, options));
    expect_load_refused(&adam, options, TL_EFORMAT, "s1/");
    close_rig(&sgd);
    close_rig(&adam);
}

Test(checkpoint, damaged_and_missing_files_change_nothing) {
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    bytes before = state_of(&r);
    before.at[before.size / 2] ^= 4;
    store(before.at, before.size);
    expect_load_refused(&r, options, TL_EFORMAT, "CRC");
    store(before.at, 100);
    expect_load_refused(&r, options, TL_EFORMAT, "damaged");
    unlink(path);
    cr_assert_eq(tl_checkpoint_load(&r.tr, path, options), TL_EIO);
    cr_assert_eq(tl_checkpoint_save(&r.tr, "/nonexistent/checkpoint", options), TL_EIO);
    cr_assert(strstr(tl_error(), "/nonexistent/checkpoint"), "%s", tl_error());
    free(before.at);
    close_rig(&r);
}

/* ---- weights alone -----------------------------------------------------------------------------
 */

/* The weights and buffers of a rig as the bytes of a weights file. */
static bytes weights_of(rig *r) {
    EXPECT_OK(tl_weights_save(r->params, path));
    return load();
}

Test(checkpoint, weights_come_back_alone_and_from_a_checkpoint) {
    rig from, to;
    open_rig(&from, TL_OPTIMIZER_ADAM, 1);
    train_until(&from, 4);
    bytes want = weights_of(&from);
    for (int whole = 0; whole < 2; whole++) {
        if (whole) EXPECT_OK(tl_checkpoint_save(&from.tr, path, options));
        open_rig(&to, TL_OPTIMIZER_SGD, 2);
        EXPECT_OK(tl_weights_load(to.params, path));
        bytes got = weights_of(&to);
        expect_equal(got, want);
        cr_assert_eq(to.tr.index, 0);
        free(got.at);
        close_rig(&to);
    }
    free(want.at);
    close_rig(&from);
}

Test(checkpoint, weights_of_another_net_are_refused) {
    static const edit change[] = {
        {"w/5.linear.weight", NULL, 0, 0, {0}, NULL},
        {"w/5.linear.weight", "w/5.linear.weight", REAL, 2, {48, 3}, NULL},
        {NULL, NULL, 0, 0, {0}, "w/6.linear.weight"},
        {"b/1.batchnorm2d.running_mean", NULL, 0, 0, {0}, NULL},
    };
    rig r;
    open_rig(&r, TL_OPTIMIZER_SGD, 1);
    bytes before = weights_of(&r);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        EXPECT_OK(tl_weights_save(r.params, path));
        rewrite(&change[i]);
        cr_assert_eq(tl_weights_load(r.params, path), TL_EFORMAT, "change %zu", i);
        bytes after = weights_of(&r);
        expect_equal(after, before);
        free(after.at);
    }
    free(before.at);
    close_rig(&r);
}
