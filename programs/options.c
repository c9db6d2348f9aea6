/* options.c: reading NAME=value words (options.h). */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_type { TEXT, WHOLE, NUMBER, SEED, FLAG } option_type;

/* One row per option: where it goes, and for numbers the range. */
typedef struct option {
    const char *name;
    option_type type;
    size_t offset;
    double least, most;
} option;

static const option table[] = {
#define OPTION(name, type, field, least, most, who, help)                                          \
    {#name, type, offsetof(options, field), least, most},
#include "options.def"
};
enum { OPTIONS = sizeof table / sizeof table[0] };

static tl_status unknown_option(const char *word, size_t length) {
    char known[512] = "";
    for (int i = 0; i < OPTIONS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? " " : "", table[i].name);
    }
    return TL_FAIL(TL_EINVAL, "unknown option %.*s; the options are %s", (int)length, word, known);
}

static void print_help(void) {
    printf("%s NAME=value …\n", program_invocation_short_name);
#define OPTION(name, type, field, least, most, who, help) printf("  %-11s%s\n", #name, help);
#include "options.def"
}

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

/* Stores the value of one option; numbers must be complete and in range. */
static tl_status store(options *o, const option *row, const char *value) {
    void *field = (char *)o + row->offset;
    char *end = NULL;
    errno = 0;
    if (row->type == TEXT) {
        *(const char **)field = value;
        return TL_OK;
    }
    if (row->type == SEED) {
        *(uint64_t *)field = strtoull(value, &end, 10);
        TL_NEED(*value >= '0' && *value <= '9' && *end == '\0' && errno == 0, TL_EINVAL,
                "SEED=%s: use a whole number from 0 to 2^64-1", value);
        return TL_OK;
    }
    if (row->type == NUMBER) {
        *(double *)field = strtod(value, &end);
        TL_NEED(*value && *end == '\0' && *(double *)field >= row->least &&
                    *(double *)field <= row->most,
                TL_EINVAL, "%s=%s: use a number from %g to %g", row->name, value, row->least,
                row->most);
        return TL_OK;
    }
    long whole = strtol(value, &end, 10);
    TL_NEED(*value && *end == '\0' && errno == 0 && (double)whole >= row->least &&
                (double)whole <= row->most,
            TL_EINVAL, "%s=%s: use a whole number from %.0f to %.0f", row->name, value, row->least,
            row->most);
    if (row->type == FLAG)
        *(bool *)field = whole != 0;
    else
        *(long *)field = whole;
    return TL_OK;
}

/* The row of a NAME=value word, or NULL. */
static const option *find_row(const char *word) {
    size_t length = strcspn(word, "=");
    for (int i = 0; i < OPTIONS; i++)
        if (strlen(table[i].name) == length && strncmp(table[i].name, word, length) == 0)
            return &table[i];
    return NULL;
}

static tl_status read_words(options *o, int count, char *const word[]) {
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(word[i], "=");
        TL_NEED(word[i][length] == '=', TL_EINVAL, "'%s' is not of the form NAME=value", word[i]);
        const option *row = find_row(word[i]);
        if (!row) return unknown_option(word[i], length);
        TL_NEED(word[i][length + 1] != '\0', TL_EINVAL, "%s= has no value", row->name);
        TL_TRY(store(o, row, word[i] + length + 1));
    }
    return TL_OK;
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

tl_status options_parse(options *o, int count, char *const word[]) {
    bool help = count == 1 && strcmp(word[0], "--help") == 0;
    bool list = count == 1 && strcmp(word[0], "--nets") == 0;
    if (help) print_help();
    if (list) print_nets();
    if (help || list) exit(fflush(stdout) == 0 ? 0 : 1);
    const char *root = getenv("GRADLAB_DATA");
    options given = {.net = "a"};
    TL_TRY(read_words(&given, count, word)); /* first for NET alone, whose defaults come next */
    const tl_net_spec *spec = tl_net_find(given.net);
    if (!spec) return unknown_net(given.net);
    *o = (options){.net = spec->name,
                   .device = "auto",
                   .dataset = "auto",
                   .opt = spec->opt,
                   .sched = spec->sched,
                   .aug = spec->aug,
                   .rungs = "all",
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
    TL_TRY(read_words(o, count, word));
    TL_NEED(!o->plan_only || o->plan, TL_EINVAL, "PLAN_ONLY=1 needs PLAN=folder");
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
    snprintf(text, OPTIONS_TEXT,
             "net=%s dataset=%s limit=%ld batch=%ld epochs=%ld opt=%s lr=%.17g momentum=%.17g "
             "nesterov=%d wd=%.17g sched=%s aug=%s seed=%llu real=%s",
             o->net, dataset, o->limit, o->batch, o->epochs, o->opt, o->lr, o->momentum,
             o->nesterov, o->wd, o->sched, o->aug, (unsigned long long)o->seed, TL_REAL_NAME);
}
