/* main_train.c: `train NAME=value …`, what `make train` runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "jsonl.h"
#include "origin.h"
#include "output.h"
#include "patience.h"
#include "profile.h"
#include "tl/status_internal.h"
#include "progress.h"
#include "run.h"
#include "tl/checkpoint.h"
#include "tl/folder.h"
#include "tl/plan.h"
#include "why.h"

/* What the hooks of a training run share. */
typedef struct session {
    run r;
    output out;
    char describe[OPTIONS_TEXT];
    jsonl log;
    progress bar;
    profile prof;
    bool stopped; /* STEPS was reached, or a signal came */
    int cut_by;   /* the signal that ended the run before it was complete; 0: none */
} session;

/* The fields that every line of results has (one run differs from another by these). */
static origin origin_of(const session *s) {
    return (origin){.program = "train",
                    .ctx = s->r.ctx,
                    .dataset = s->r.data->name,
                    .rungs = s->r.o.rungs,
                    .net = s->r.o.net,
                    .seed = s->r.o.seed};
}

static void common_fields(session *s, const char *kind) {
    const origin o = origin_of(s);
    origin_begin(&s->log, kind, &o);
}

static void option_fields(jsonl *j, const session *s) {
    const options *o = &s->r.o;
    jsonl_whole(j, "batch", (uint64_t)o->batch);
    jsonl_whole(j, "epochs", (uint64_t)o->epochs);
    jsonl_text(j, "opt", o->opt);
    jsonl_number(j, "lr", o->lr);
    jsonl_number(j, "momentum", o->momentum);
    jsonl_whole(j, "nesterov", o->nesterov);
    jsonl_number(j, "wd", o->wd);
    jsonl_text(j, "sched", o->sched);
    jsonl_text(j, "aug", o->aug);
    jsonl_text(j, "precision", o->precision);
    jsonl_whole(j, "limit", (uint64_t)o->limit);
    jsonl_whole(j, "steps_per_epoch", s->r.steps_per_epoch);
}

static tl_status log_step(session *s) {
    tl_real loss;
    TL_TRY(tl_trainer_read_loss(&s->r.trainer, &loss));
    jsonl_begin(&s->log);
    jsonl_text(&s->log, "kind", "step");
    jsonl_whole(&s->log, "step", s->r.trainer.index - 1);
    jsonl_number(&s->log, "loss", (double)loss);
    return jsonl_end(&s->log);
}

static tl_status after_step(tl_trainer *tr, int images, void *user) {
    session *s = user;
    const options *o = &s->r.o;
    (void)images;
    TL_TRY(tl_root_cause(TL_OK)); /* before a checkpoint of steps that cannot be right */
    if (o->step_log) TL_TRY(log_step(s));
    if (o->ckpt_every > 0 && tr->index % (uint64_t)o->ckpt_every == 0)
        TL_TRY(output_save(&s->out, tr, s->describe));
    progress_show(&s->bar, (long)tr->epoch + 1, o->epochs, tr->first, tr->train.count);
    s->stopped = (o->steps > 0 && tr->index >= (uint64_t)o->steps) || interrupt_signal();
    /* a status that ends the epoch; train_epoch knows what it means */
    return s->stopped ? TL_FAIL(TL_EINVAL, "stopped after step %" PRIu64, tr->index) : TL_OK;
}

/* The figures of an epoch, which a restored line has in the same words as the first one. */
static void figure_fields(jsonl *j, uint32_t epoch, const tl_epoch_figures *f) {
    jsonl_whole(j, "epoch", epoch);
    jsonl_number(j, "train_loss", f->train_loss);
    jsonl_number(j, "train_acc", f->train_acc);
    jsonl_number(j, "test_loss", f->test_loss);
    jsonl_number(j, "test_acc", f->test_acc);
}

/* Whether the log that a resumed run goes on with has this epoch already: a run that was killed
 * between its line and its checkpoint trains it once more, to the same figures. */
static tl_status is_logged(const session *s, bool *found, uint32_t epoch) {
    char *text = NULL;
    size_t length;
    *found = false;
    if (!s->r.o.resume) return TL_OK;
    jsonl fields = {.path = "memory", .file = open_memstream(&text, &length), .first = true};
    TL_NEED(fields.file, TL_ENOMEM, "out of host memory for the line of an epoch");
    figure_fields(&fields, epoch, &s->r.trainer.history.epoch[epoch - 1]);
    jsonl_close(&fields);
    tl_status status = text ? jsonl_holds(&s->log, text, found)
                            : TL_FAIL(TL_ENOMEM, "out of host memory for the line of an epoch");
    free(text);
    return status;
}

/* What one pass over an epoch took. */
typedef struct pass {
    double train_s, eval_s, images_per_s;
} pass;

/* The line of an epoch, unless the log has it. `took` is NULL if an earlier run trained it, whose
 * times are not known: they are null then, and the line says that it was restored. */
static tl_status log_epoch(session *s, uint32_t epoch, const pass *took) {
    bool logged;
    TL_TRY(is_logged(s, &logged, epoch));
    if (logged) return TL_OK;
    const pass p = took ? *took : (pass){NAN, NAN, NAN};
    common_fields(s, "epoch");
    figure_fields(&s->log, epoch, &s->r.trainer.history.epoch[epoch - 1]);
    jsonl_number(&s->log, "train_s", p.train_s);
    jsonl_number(&s->log, "eval_s", p.eval_s);
    jsonl_number(&s->log, "images_per_s", p.images_per_s);
    if (took)
        jsonl_whole(&s->log, "peak_bytes", tl_alloc_read_stats(s->r.ctx->alloc).peak_bytes);
    else
        jsonl_whole(&s->log, "restored", 1);
    return jsonl_end(&s->log);
}

/* One epoch of training and the evaluation after it, reported to people and to the log. */
static tl_status train_epoch(session *s) {
    tl_trainer *tr = &s->r.trainer;
    const uint32_t epoch = tr->epoch + 1, done_before = tr->first;
    tl_metrics train, test;
    progress_begin(&s->bar, done_before);
    if (s->r.o.profile) profile_on(&s->prof, s->r.ctx);
    double begin = now_seconds();
    tl_status status = tl_train_epoch(tr);
    if (status == TL_OK) status = tl_metrics_read(s->r.ctx, &train, tr->sums); /* waits */
    double train_s = now_seconds() - begin;
    tl_status profiled = s->r.o.profile ? profile_off(&s->prof, s->r.ctx) : TL_OK;
    progress_clear(&s->bar);
    TL_TRY(profiled);
    if (s->stopped) return TL_OK;
    TL_TRY(status);
    begin = now_seconds();
    TL_TRY(tl_evaluate(tr, &tr->test, &test));
    double eval_s = now_seconds() - begin;
    double rate = (double)(tr->train.count - done_before) / train_s;

    printf("epoch %2" PRIu32 "/%ld  train loss %.4f acc %5.2f %%  test loss %.4f acc %5.2f %%  "
           "%.2f s + %.2f s  %.0f images/s\n",
           epoch, s->r.o.epochs, train.loss, 100 * train.accuracy, test.loss, 100 * test.accuracy,
           train_s, eval_s, rate);
    fflush(stdout);
    TL_TRY(tl_history_add(&tr->history, &train, &test));
    TL_TRY(log_epoch(s, epoch, &(pass){train_s, eval_s, rate}));
    TL_NEED(train.loss - train.loss == 0, TL_EINVAL, /* false for NaN and for infinity */
            "the training loss of epoch %" PRIu32
            " is not a finite number: the run diverged; try a "
            "smaller LR than %g",
            epoch, s->r.o.lr);
    TL_TRY(output_save(&s->out, tr, s->describe));
    s->stopped = interrupt_signal(); /* during the evaluation or the save */
    return TL_OK;
}

static tl_status write_options(const session *s, const char *folder) {
    char path[PATH_MAX];
    jsonl j;
    snprintf(path, sizeof path, "%s/options.json", folder);
    TL_TRY(jsonl_open(&j, path, false));
    jsonl_begin(&j);
    jsonl_text(&j, "net", s->r.o.net);
    const tl_net_spec *net = s->r.o.spec;
    char words[NET_WORDS];
    tl_net_words(net, words, sizeof words);
    jsonl_numbers(&j, "input", (const double[]){net->c, net->h, net->w}, 3);
    jsonl_text(&j, "layers", words);
    jsonl_text(&j, "dataset", s->r.data->name);
    jsonl_text(&j, "data_root", s->r.o.data_root);
    jsonl_text(&j, "real", TL_REAL_NAME);
    jsonl_whole(&j, "seed", s->r.o.seed);
    option_fields(&j, s);
    jsonl_whole(&j, "pad", (uint64_t)s->r.o.pad);
    jsonl_numbers(&j, "mean", s->r.data->mean, s->r.data->c);
    jsonl_numbers(&j, "std", s->r.data->std, s->r.data->c);
    tl_status status = jsonl_end(&j);
    jsonl_close(&j);
    return status;
}

/* Options, initial weights and the plan of each epoch, for the PyTorch twin. */
static tl_status write_plans(session *s) {
    const options *o = &s->r.o;
    char path[PATH_MAX];
    TL_TRY(tl_make_folder(o->plan, ""));
    TL_TRY(write_options(s, o->plan));
    snprintf(path, sizeof path, "%s/init.tl", o->plan);
    TL_TRY(tl_weights_save(s->r.params, path));
    uint64_t left = o->steps > 0 ? (uint64_t)o->steps : UINT64_MAX;
    for (uint32_t epoch = 0; epoch < (uint32_t)o->epochs && left > 0; epoch++) {
        uint64_t steps = left < s->r.steps_per_epoch ? left : s->r.steps_per_epoch;
        snprintf(path, sizeof path, "%s/plan-%04" PRIu32 ".tl", o->plan, epoch);
        TL_TRY(tl_plan_write(&s->r.trainer, o->spec, epoch, steps, path));
        left -= steps;
    }
    return TL_OK;
}

/* Whether all that was asked for is done. */
static bool is_complete(const session *s) {
    const options *o = &s->r.o;
    const tl_trainer *tr = &s->r.trainer;
    return tr->epoch >= (uint32_t)o->epochs || (o->steps > 0 && tr->index >= (uint64_t)o->steps);
}

/* Says where a run that was stopped stands, and how to go on from there. */
static void say_stopped(const session *s) {
    const tl_trainer *tr = &s->r.trainer;
    fprintf(stderr,
            "train: stopped by %s after step %" PRIu64 ", in epoch %" PRIu32 ", image %" PRIu32
            "; nothing is lost: run the same command with RESUME=%s\n",
            interrupt_name(s->cut_by), tr->index, tr->epoch + 1, tr->first, s->out.checkpoint);
}

static tl_status resume(session *s) {
    tl_trainer *tr = &s->r.trainer;
    tl_status status = tl_checkpoint_load(tr, s->r.o.resume, s->describe);
    char previous[PATH_MAX];
    snprintf(previous, sizeof previous, "%.4000s.previous", s->r.o.resume);
    if ((status == TL_EFORMAT || status == TL_EIO) && access(previous, R_OK) == 0)
        fprintf(stderr, "resume   the checkpoint before %s is %s\n", s->r.o.resume, previous);
    TL_TRY(status);
    fprintf(stderr,
            "resume   %s: epoch %" PRIu32 ", image %" PRIu32
            " (the same bits as without a stop, unless it comes from another device or machine)\n",
            s->r.o.resume, tr->epoch + 1, tr->first);
    return TL_OK;
}

/* A resumed run goes on with the log that is there, which in another folder than before gets the
 * epochs that were done before. That of a fresh one takes an older one's place
 * only when its first line is written: on a full disk the older one stays. */
static tl_status begin_log(session *s) {
    const bool resumes = s->r.o.resume != NULL;
    static char part[PATH_MAX + 8];
    snprintf(part, sizeof part, "%s.part", s->out.log);
    TL_TRY(jsonl_open(&s->log, resumes ? s->out.log : part, resumes));
    common_fields(s, "run");
    option_fields(&s->log, s);
    tl_status status = jsonl_end(&s->log);
    if (status == TL_OK && !resumes && rename(part, s->out.log) != 0)
        status = TL_FAIL(TL_EIO, "cannot rename %s: %s", part, strerror(errno));
    if (status != TL_OK && !resumes) unlink(part);
    s->log.path = s->out.log;
    for (uint32_t epoch = 1; status == TL_OK && epoch <= s->r.trainer.history.epochs; epoch++)
        status = log_epoch(s, epoch, NULL);
    return status;
}

/* What the operations took, beside the log of the run. */
static tl_status write_profile(const session *s, uint64_t steps) {
    char path[PATH_MAX + 16];
    const origin o = origin_of(s);
    snprintf(path, sizeof path, "%s/profile.jsonl", s->out.folder);
    TL_TRY(profile_write(&s->prof, path, &o, steps, (int)s->r.o.batch));
    printf("profile  %s\n", path);
    return TL_OK;
}

/* Where a run's results lie that says nothing else. A part of a run does not take the place of a
 * whole one. (mk/train.mk names runs of MINE=1 alike.) */
static void name_folder(const session *s, char folder[PATH_MAX]) {
    const options *o = &s->r.o;
    const bool other = o->products != TL_FP32;
    char steps[32] = "", limit[32] = "";
    if (o->steps) snprintf(steps, sizeof steps, "-steps%ld", o->steps);
    if (o->limit) snprintf(limit, sizeof limit, "-limit%ld", o->limit);
    snprintf(folder, PATH_MAX, "results/local/train-%s-%s%s%s-seed%llu%s%s%s", o->net,
             s->r.ctx->ops->name, other ? "-" : "", other ? o->precision : "",
             (unsigned long long)o->seed, steps, limit, o->profile ? "-profile" : "");
}

static tl_status train(session *s) {
    tl_trainer *tr = &s->r.trainer;
    const options *o = &s->r.o;
    char folder[PATH_MAX];
    if (o->plan) TL_TRY(write_plans(s));
    if (o->plan_only) return TL_OK;
    name_folder(s, folder);
    options_describe(o, s->describe, s->r.data->name);
    if (o->resume) TL_TRY(resume(s));
    TL_TRY(output_open(&s->out, o->out ? o->out : folder));
    if (o->resume) output_resumed(&s->out, tr, o->resume);
    TL_TRY(begin_log(s));
    tr->on_step = after_step;
    tr->user = s;
    interrupt_watch();
    const uint64_t before = tr->index;
    while (tr->epoch < (uint32_t)o->epochs && !s->stopped) TL_TRY(train_epoch(s));
    TL_TRY(output_save(&s->out, tr, s->describe)); /* unless the last epoch was */
    if (o->profile) TL_TRY(write_profile(s, tr->index - before));
    /* decided once, for the words and for the exit status: a signal may still come */
    const int came = interrupt_signal();
    s->cut_by = is_complete(s) ? 0 : came;
    if (came && !s->cut_by)
        fprintf(stderr, "train: %s came when all steps were done; the run is complete and saved\n",
                interrupt_name(came));
    if (s->cut_by)
        say_stopped(s);
    else
        printf("results  %s; weights and state in %s\n", s->out.log, s->out.checkpoint);
    return TL_OK;
}

/* Why the run failed, and, where a file could not be written, how to go on when that is fixed. */
static void say_failed(const session *s, tl_status status) {
    const char *from = s->out.saved ? s->out.checkpoint : s->r.o.resume;
    say_why("train");
    if (status == TL_EIO && s->out.folder[0])
        fprintf(stderr, "; fix that or choose another folder with OUT=%s%s",
                from ? ", and go on with RESUME=" : "", from ? from : "");
    putc('\n', stderr);
}

/* Started with >&- or 2>&-, as jobs in the background are, the next file to be opened would get the
 * stream's number, and all that is printed would go into a log or a checkpoint. */
static void open_closed_streams(void) {
    int file;
    do {
        file = open("/dev/null", O_RDWR);
    } while (file >= 0 && file <= STDERR_FILENO);
    close(file);
}

int main(int argc, char **argv) {
    wait_patiently(argv);
    open_closed_streams();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes: let the write fail, which says where */
    static session s = {.out.lock = -1};
    options o;
    tl_status status = options_parse(&o, argc - 1, argv + 1);
    if (status == TL_OK) status = run_open(&s.r, &o);
    if (status == TL_OK) run_say_net(&s.r, true);
    if (status == TL_OK) status = train(&s);
    status = tl_root_cause(status);
    if (status != TL_OK) say_failed(&s, status);
    jsonl_close(&s.log);
    output_close(&s.out);
    if (s.r.ctx) run_close(&s.r);
    if (status != TL_OK) return 1;
    if (s.cut_by) return 128 + s.cut_by;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fprintf(stderr,
            "train: cannot write to standard output (a full disk?); the results are whole "
            "in %s\n",
            s.out.log);
    return 1;
}
