/* main_predict.c: `predict NET=… RESUME=checkpoint OUT=folder`: what a trained net says of each
 * test image.
 *
 * Writes OUT/predictions.jsonl, one line: the confusion matrix, the wrongest images (by the
 * probability of the wrong class), and the filters of the first convolution, for the report. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "origin.h"
#include "run.h"
#include "tl/backend.h"
#include "tl/checkpoint.h"
#include "tl/folder.h"

enum { CLASSES = 10, WRONG = 40 };

typedef struct guess {
    double image, label, guess, prob; /* doubles, for they are written as numbers */
} guess;

typedef struct tally {
    double confusion[CLASSES * CLASSES]; /* [label][guess] */
    guess wrong[WRONG];                  /* most certain first */
    int wrongs;
    size_t hits;
} tally;

/* Keeps the image if it is among the WRONG most certain mistakes. */
static void add_wrong(tally *t, guess g) {
    int at = t->wrongs < WRONG ? t->wrongs++ : WRONG;
    while (at > 0 && t->wrong[at - 1].prob < g.prob) {
        if (at < WRONG) t->wrong[at] = t->wrong[at - 1];
        at--;
    }
    if (at < WRONG) t->wrong[at] = g;
}

static void judge(tally *t, size_t image, int label, const tl_real *logit) {
    int best = 0;
    double sum = 0;
    for (int i = 1; i < CLASSES; i++)
        if (logit[i] > logit[best]) best = i;
    for (int i = 0; i < CLASSES; i++) sum += exp((double)logit[i] - (double)logit[best]);
    t->confusion[label * CLASSES + best]++;
    t->hits += best == label;
    if (best != label)
        add_wrong(t, (guess){(double)image, label, best, 1 / sum}); /* softmax of the largest */
}

/* The logits of n test images from `first` on, in evaluation mode. */
static tl_status classify(tl_trainer *tr, uint32_t first, int n, tl_real *logits) {
    const tl_backend *ops = tr->ctx->ops;
    const tl_device_split *d = &tr->test;
    tl_step now = {.seed = tr->seed, .first = first};
    tl_batch_geom g = {.n = n};
    tl_var *x, *y;
    TL_TRY(ops->step_set(tr->ctx, &now));
    TL_TRY(ops->batch_load(tr->ctx, tr->x->data, tr->label, d, tr->ctx->step, &g));
    tl_tape_reset(tr->tape);
    tl_tape_set_recording(tr->tape, false);
    tl_tensor images = *tr->x; /* the first n of the batch memory */
    images.dim[0] = n;
    images.size = (size_t)n * (size_t)d->c * (size_t)d->h * (size_t)d->w;
    TL_TRY(tl_tape_wrap(tr->tape, &x, &images, 4, images.dim, false));
    TL_TRY(tl_module_forward(tr->net, tr->tape, &y, x, false));
    return tl_tensor_to_host(y->value, logits);
}

static tl_status classify_all(run *r, tally *t) {
    tl_trainer *tr = &r->trainer;
    tl_real *logits = malloc((size_t)tr->batch * CLASSES * sizeof *logits);
    TL_NEED(logits, TL_ENOMEM, "no memory for %d results", tr->batch);
    tl_status status = TL_OK;
    for (size_t first = 0; first < tr->test.count && status == TL_OK; first += (size_t)tr->batch) {
        size_t left = tr->test.count - first;
        int n = left < (size_t)tr->batch ? (int)left : tr->batch;
        status = classify(tr, (uint32_t)first, n, logits);
        for (int i = 0; i < n && status == TL_OK; i++)
            judge(t, first + (size_t)i, r->data->test.labels[first + (size_t)i],
                  logits + i * CLASSES);
    }
    free(logits);
    return status;
}

static void wrong_fields(jsonl *j, const tally *t) {
    static const char *const name[] = {"wrong_index", "wrong_label", "wrong_guess", "wrong_prob"};
    double column[4][WRONG];
    for (int i = 0; i < t->wrongs; i++) {
        const guess *g = &t->wrong[i];
        const double value[] = {g->image, g->label, g->guess, g->prob};
        for (int k = 0; k < 4; k++) column[k][i] = value[k];
    }
    for (int k = 0; k < 4; k++) jsonl_numbers(j, name[k], column[k], t->wrongs);
}

/* The first parameter with four dimensions. */
static tl_status filter_fields(jsonl *j, const run *r) {
    for (int i = 0; i < r->params->entries; i++) {
        const tl_var *v = r->params->entry[i].var;
        if (!v || v->value->ndim != 4) continue;
        const tl_tensor *w = v->value;
        tl_real *host = malloc(w->size * sizeof *host);
        double *wide = malloc(w->size * sizeof *wide), shape[4];
        tl_status status = host && wide ? tl_tensor_to_host(w, host)
                                        : TL_FAIL(TL_ENOMEM, "no memory for %zu weights", w->size);
        for (size_t k = 0; k < w->size && status == TL_OK; k++) wide[k] = (double)host[k];
        for (int k = 0; k < 4; k++) shape[k] = w->dim[k];
        if (status == TL_OK) {
            jsonl_numbers(j, "filter_shape", shape, 4);
            jsonl_numbers(j, "filters", wide, (int)w->size);
        }
        free(host);
        free(wide);
        return status;
    }
    return TL_OK;
}

static tl_status predict(run *r) {
    const options *o = &r->o;
    static tally t;
    char path[PATH_MAX];
    jsonl j;
    TL_NEED(o->resume && o->out, TL_EINVAL, "predict needs RESUME=checkpoint and OUT=folder");
    TL_NEED(r->data->classes == CLASSES, TL_ESHAPE, "%s has %d classes, not %d", r->data->name,
            r->data->classes, (int)CLASSES);
    TL_TRY(tl_weights_load(r->params, o->resume));
    TL_TRY(classify_all(r, &t));
    TL_TRY(tl_make_folder(o->out, ""));
    snprintf(path, sizeof path, "%.4000s/predictions.jsonl", o->out);
    TL_TRY(jsonl_open(&j, path, false));
    const origin from = {.program = "predict",
                         .ctx = r->ctx,
                         .dataset = r->data->name,
                         .rungs = o->rungs,
                         .net = o->net,
                         .seed = o->seed};
    origin_begin(&j, "predictions", &from);
    jsonl_number(&j, "accuracy", (double)t.hits / (double)r->trainer.test.count);
    jsonl_whole(&j, "images", r->trainer.test.count);
    jsonl_numbers(&j, "confusion", t.confusion, CLASSES * CLASSES);
    wrong_fields(&j, &t);
    tl_status status = filter_fields(&j, r);
    if (status == TL_OK) status = jsonl_end(&j);
    jsonl_close(&j);
    if (status == TL_OK) printf("predictions  %s\n", path);
    return status;
}

int main(int argc, char **argv) { return run_program("predict", predict, argc, argv); }
