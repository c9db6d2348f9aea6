/* options.c: the options of a training run (options.h). */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

static const word_row table[] = {
#define OPTION(name, type, field, least, most, who, help)                                          \
    {#name, WORD_##type, offsetof(options, field), least, most, help},
#include "options.def"
    {0}};

/* A line of JSON for each net: what other programs know of them. */
static void print_nets(void) {
    const tl_net_spec *net;
    char words[NET_WORDS];
    for (size_t i = 0; (net = tl_net_at(i)); i++) {
        tl_net_words(net, words, sizeof words);
        printf("{\"net\": \"%s\", \"input\": [%d, %d, %d], \"layers\": \"%s\"}\n", net->name,
               net->c, net->h, net->w, words);
    }
}

static tl_status unknown_net(const char *name) {
    char known[128] = "";
    const tl_net_spec *net;
    for (size_t i = 0; (net = tl_net_at(i)); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", net->name);
    }
    return TL_FAIL(TL_EINVAL, "NET=%s: unknown net; use one of %s", name, known);
}

static tl_status choose_optimizer(options *o, bool own_lr) {
    bool adam = strcmp(o->opt, "adam") == 0;
    TL_NEED(adam || strcmp(o->opt, "sgd") == 0, TL_EINVAL, "OPT=%s: use sgd or adam", o->opt);
    /* a rate that suits one optimiser is far off for the other */
    if (!own_lr && strcmp(o->opt, o->spec->opt) != 0) o->lr = adam ? 1e-3 : 0.05;
    TL_NEED(o->lr > 0, TL_EINVAL, "LR=%g: the learning rate must be above 0", o->lr);
    if (!adam) {
        o->optimizer.kind = TL_OPTIMIZER_SGD;
        o->optimizer.sgd = (tl_sgd_options){o->momentum, o->wd, o->nesterov};
        return TL_OK;
    }
    TL_NEED(o->momentum == 0 && !o->nesterov, TL_EINVAL,
            "MOMENTUM and NESTEROV go with OPT=sgd; Adam has its own averages");
    o->optimizer.kind = TL_OPTIMIZER_ADAM;
    o->optimizer.adam = (tl_adam_options){0.9, 0.999, 1e-8, o->wd};
    return TL_OK;
}

static tl_status choose_augmentation(options *o) {
    if (strcmp(o->aug, "none") == 0) return TL_OK;
    o->augment = 1;
    if (strcmp(o->aug, "flip") == 0) return TL_OK;
    o->pad = 4;
    TL_NEED(strcmp(o->aug, "crop+flip") == 0, TL_EINVAL, "AUG=%s: use none, flip or crop+flip",
            o->aug);
    return TL_OK;
}

/* Which bits decides which kernels: RUNGS is the choice among the quick ones alone. */
static tl_status choose_bits(options *o) {
    bool portable = strcmp(o->bits, "portable") == 0;
    TL_NEED(portable || strcmp(o->bits, "fast") == 0, TL_EINVAL, "BITS=%s: use fast or portable",
            o->bits);
    TL_NEED(strcmp(o->rungs, "portable") != 0, TL_EINVAL,
            "RUNGS=portable: these kernels are taken by BITS=portable");
    TL_NEED(!portable || strcmp(o->rungs, "all") == 0, TL_EINVAL,
            "BITS=portable has kernels of its own: leave out RUNGS=%s", o->rungs);
    if (portable) o->rungs = "portable";
    return TL_OK;
}

tl_status options_parse(options *o, int count, char *const word[]) {
    bool help = count == 1 && strcmp(word[0], "--help") == 0;
    bool list = count == 1 && strcmp(word[0], "--nets") == 0;
    if (help) words_help(table);
    if (list) print_nets();
    if (help || list) exit(fflush(stdout) == 0 ? 0 : 1);
    const char *root = getenv("GRADLAB_DATA");
    options given = {.net = "a"};
    TL_TRY(
        words_read(&given, table, count, word)); /* first for NET alone, whose defaults come next */
    const tl_net_spec *spec = tl_net_find(given.net);
    if (!spec) return unknown_net(given.net);
    *o = (options){.net = spec->name,
                   .device = "auto",
                   .dataset = "auto",
                   .opt = spec->opt,
                   .sched = spec->sched,
                   .aug = spec->aug,
                   .rungs = "all",
                   .precision = tl_precision_name(TL_FP32),
                   .bits = "fast",
                   .epochs = spec->epochs,
                   .batch = spec->batch,
                   .lr = spec->lr,
                   .momentum = spec->momentum,
                   .seed = 1,
                   .graph = true,
                   .spec = spec,
                   .data_root = root && *root ? root : "data"};
    /* the net's momentum belongs to its optimiser */
    if (given.opt && strcmp(given.opt, spec->opt) != 0) o->momentum = 0;
    TL_TRY(words_read(o, table, count, word));
    TL_NEED(!o->plan_only || o->plan, TL_EINVAL, "PLAN_ONLY=1 needs PLAN=folder");
    TL_TRY(tl_precision_find(&o->products, o->precision));
    TL_TRY(choose_bits(o));
    TL_TRY(choose_optimizer(o, given.lr > 0));
    return choose_augmentation(o);
}

/* "step:10:0.1" into its numbers; `fields` of them, counted after the name. */
static bool split_schedule(const char *text, const char *name, int fields, double value[]) {
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0) return false;
    const char *p = text + length;
    for (int i = 0; i < fields; i++) {
        char *end;
        if (*p++ != ':') return false;
        value[i] = strtod(p, &end);
        if (end == p || !(value[i] > 0 && value[i] < 1e6)) return false;
        p = end;
    }
    return *p == '\0';
}

tl_status options_schedule(const options *o, tl_schedule *schedule, uint64_t steps_per_epoch) {
    double v[2] = {0, 0};
    const double steps = (double)steps_per_epoch;
    *schedule = (tl_schedule){.kind = TL_SCHEDULE_CONSTANT,
                              .base = o->lr,
                              .factor = 1,
                              .turn = 1,
                              .total = steps_per_epoch * (uint64_t)o->epochs};
    if (strcmp(o->sched, "constant") == 0) return TL_OK;
    if (strcmp(o->sched, "cosine") == 0) {
        schedule->kind = TL_SCHEDULE_COSINE;
        return TL_OK;
    }
    if (split_schedule(o->sched, "step", 2, v)) {
        schedule->kind = TL_SCHEDULE_STEP;
        schedule->factor = v[1];
    } else if (split_schedule(o->sched, "triangular", 1, v) && v[0] < (double)o->epochs) {
        schedule->kind = TL_SCHEDULE_TRIANGULAR;
    } else {
        return TL_FAIL(TL_EINVAL,
                       "SCHED=%s: use constant, cosine, step:EPOCHS:FACTOR, or triangular:EPOCH "
                       "with EPOCH below EPOCHS=%ld",
                       o->sched, o->epochs);
    }
    schedule->turn = (uint64_t)(v[0] * steps + 0.5);
    if (schedule->turn == 0) schedule->turn = 1;
    return TL_OK;
}

void options_describe(const options *o, char text[OPTIONS_TEXT], const char *dataset) {
    int used =
        snprintf(text, OPTIONS_TEXT,
                 "net=%s dataset=%s limit=%ld batch=%ld epochs=%ld opt=%s lr=%.17g momentum=%.17g "
                 "nesterov=%d wd=%.17g sched=%s aug=%s seed=%llu real=%s",
                 o->net, dataset, o->limit, o->batch, o->epochs, o->opt, o->lr, o->momentum,
                 o->nesterov, o->wd, o->sched, o->aug, (unsigned long long)o->seed, TL_REAL_NAME);
    /* (checkpoints that are older than an option say nothing of it) */
    if (o->products != TL_FP32 && used > 0 && used < OPTIONS_TEXT)
        used += snprintf(text + used, (size_t)(OPTIONS_TEXT - used), " precision=%s", o->precision);
    if (strcmp(o->bits, "fast") != 0 && used > 0 && used < OPTIONS_TEXT)
        snprintf(text + used, (size_t)(OPTIONS_TEXT - used), " bits=%s", o->bits);
}
