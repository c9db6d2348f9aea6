/* run.c: from options to a trainer that is ready to run (run.h). */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "patience.h"
#include "tl/device.h"
#include "tl/status_internal.h"
#include "why.h"

const char *machine_name(void) {
    static char name[128] = "";
    FILE *file = name[0] ? NULL : fopen("/proc/cpuinfo", "r");
    if (file) {
        char line[256];
        while (!name[0] && fgets(line, sizeof line, file))
            sscanf(line, "model name : %127[^\n]", name);
        fclose(file);
    }
    return name[0] ? name : "unknown cpu";
}

/* DATASET=auto as a name: the net's own set, else CIFAR-10 if it is there, else shapes10. */
static const char *choose_dataset(const options *o, const char **reason) {
    *reason = "";
    if (strcmp(o->dataset, "auto") != 0) return o->dataset;
    if (o->spec->dataset) return o->spec->dataset;
    if (tl_dataset_exists("cifar10", o->data_root)) return "cifar10";
    *reason = "; CIFAR-10 is not there (set GRADLAB_DATA), so this generated set stands in";
    return "shapes10";
}

static tl_status load_data(run *r) {
    const options *o = &r->o;
    const char *reason, *name = choose_dataset(o, &reason);
    if (strcmp(name, "shapes10") == 0 && !tl_dataset_exists(name, o->data_root)) {
        fprintf(stderr, "dataset  drawing shapes10 into %s/shapes10 (once, some seconds)\n",
                o->data_root);
        TL_TRY(tl_shapes10_write(o->data_root, TL_SHAPES10_SEED));
    }
    TL_TRY(tl_dataset_load(&r->data, name, o->data_root, (size_t)o->limit));
    const tl_dataset *d = r->data;
    fprintf(stderr, "dataset  %s: %zu training and %zu test images of %dx%dx%d (%s/%s%s)\n", name,
            d->train.count, d->test.count, d->c, d->h, d->w, o->data_root, name, reason);
    TL_NEED(d->c == o->spec->c && d->h == o->spec->h && d->w == o->spec->w, TL_ESHAPE,
            "net %s takes images of %dx%dx%d, but %s has %dx%dx%d; choose another DATASET or NET",
            o->net, o->spec->c, o->spec->h, o->spec->w, name, d->c, d->h, d->w);
    return TL_OK;
}

static tl_status build(run *r) {
    tl_trainer *tr = &r->trainer;
    const options *o = &r->o;
    /* the device first: what it lacks is said before a data set is drawn or read */
    const tl_device_options wanted = {.rungs = o->rungs, .threads = (int)o->threads};
    TL_TRY(tl_device_open_in(&r->ctx, o->device, &wanted, o->products));
    TL_TRY(load_data(r));
    char gpu[64];
    tl_device_describe(r->ctx, gpu, sizeof gpu);
    fprintf(stderr, "device   %s, %s%s%d thread%s (%s), %s, rungs %s\n", r->ctx->ops->name, gpu,
            gpu[0] ? ", " : "", r->ctx->threads, r->ctx->threads == 1 ? "" : "s", machine_name(),
            TL_REAL_NAME, o->rungs);
    if (r->ctx->ops->exact)
        fprintf(stderr, "products %s: %s\n", o->precision,
                r->ctx->ops->net_plan
                    ? "by tensor cores, and values stay in this precision from layer to layer"
                    : "values are rounded between kernels for float, which takes longer than fp32");
    *tr = (tl_trainer){.ctx = r->ctx,
                       .optimizer = o->optimizer,
                       .batch = (int)o->batch,
                       .augment = o->augment,
                       .pad = o->pad,
                       .seed = o->seed,
                       .graph = o->graph && !o->profile};
    TL_TRY(tl_split_upload(r->ctx, &tr->train, r->data, &r->data->train));
    TL_TRY(tl_split_upload(r->ctx, &tr->test, r->data, &r->data->test));
    TL_TRY(tl_net_build(&r->net, r->ctx, o->spec, o->seed));
    tr->net = r->net;
    TL_TRY(tl_params_new(&r->params, r->net));
    tr->params = r->params;
    TL_TRY(tl_optimizer_init(&tr->optimizer, r->params));
    r->steps_per_epoch = (tr->train.count + (size_t)o->batch - 1) / (size_t)o->batch;
    TL_TRY(options_schedule(o, &tr->schedule, r->steps_per_epoch));
    TL_TRY(tl_trainer_init(tr));
    return TL_OK;
}

void run_say_net(const run *r, bool trains) {
    const options *o = &r->o;
    fprintf(stderr, "net      %s, %zu parameters", o->net, r->params->count);
    if (trains)
        fprintf(stderr,
                "; %s, lr %g, momentum %g, weight decay %g, %s; batch %ld, %ld epoch%s, "
                "augmentation %s, seed %llu",
                o->opt, o->lr, o->momentum, o->wd, o->sched, o->batch, o->epochs,
                o->epochs == 1 ? "" : "s", o->aug, (unsigned long long)o->seed);
    putc('\n', stderr);
}

tl_status run_open(run *r, const options *o) {
    *r = (run){.o = *o};
    tl_status status = build(r);
    if (status != TL_OK) run_close(r);
    return status;
}

void run_close(run *r) {
    if (r->ctx) {
        tl_trainer_release(&r->trainer);
        tl_optimizer_release(&r->trainer.optimizer, r->ctx);
        tl_module_free(r->net);
        tl_params_free(r->params);
        tl_split_release(r->ctx, &r->trainer.train);
        tl_split_release(r->ctx, &r->trainer.test);
        tl_device_close(r->ctx);
    }
    tl_dataset_free(r->data);
    *r = (run){0};
}

int run_program(const char *name, tl_status (*work)(run *r), int argc, char **argv) {
    wait_patiently(argv);
    static run r;
    options o;
    tl_status status = options_parse(&o, argc - 1, argv + 1);
    if (status == TL_OK) status = run_open(&r, &o);
    if (status == TL_OK) run_say_net(&r, false);
    if (status == TL_OK) status = work(&r);
    status = tl_root_cause(status);
    if (status != TL_OK) {
        say_why(name);
        putc('\n', stderr);
    }
    if (r.ctx) run_close(&r);
    return status == TL_OK ? 0 : 1;
}
