/* main_show.c: `show LAB=n OUT=folder DEVICE=…`: what a lab has come to, to look at (show.h).
 *
 * Exit status 1 with one line where something is not there yet: it names what to write first. */
#include "show.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "programs/origin.h"
#include "programs/patience.h"
#include "programs/why.h"
#include "programs/words.h"
#include "tl/device.h"
#include "tl/folder.h"
#include "tl/status_internal.h"

typedef struct options_of_show {
    const char *device, *out, *resume;
    long lab, threads;
    uint64_t seed;
} options_of_show;

static const word_row table[] = {
#define OPTION(name, type, field, least, most, who, help)                                          \
    {#name, WORD_##type, offsetof(options_of_show, field), least, most, help},
#include "options.def"
    {0}};

/* `own_device`: of a lab whose programs open it themselves. */
static const struct {
    int lab;
    bool own_device;
    show_fn run;
} shown[] = {{1, false, show_lab1},
             {2, false, show_lab2},
             {3, false, show_lab3},
             {4, false, show_lab4},
             {5, true, show_lab5}};

static tl_status run(show *s, show_fn lab, int number) {
    char path[PATH_MAX];
    jsonl j;
    TL_TRY(tl_make_folder(s->out, ""));
    snprintf(path, sizeof path, "%.4000s/show.jsonl", s->out);
    TL_TRY(jsonl_open(&j, path, false));
    s->j = &j;
    if (s->ctx) {
        const origin from = {
            .program = "show", .ctx = s->ctx, .dataset = "none", .rungs = "none", .seed = s->seed};
        origin_begin(&j, "show", &from);
    } else {
        jsonl_begin(&j);
        jsonl_text(&j, "kind", "show");
        jsonl_text(&j, "program", "show");
    }
    jsonl_whole(&j, "lab", (uint64_t)number);
    tl_status status = jsonl_end(&j);
    if (status == TL_OK) status = lab(s);
    jsonl_close(&j);
    if (s->ctx) show_release(s);
    return status;
}

static tl_status show_one(const options_of_show *o) {
    show s = {.out = o->out,
              .resume = o->resume,
              .device = o->device,
              .threads = o->threads,
              .seed = o->seed};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (shown[i].lab != o->lab) continue;
        if (!shown[i].own_device)
            TL_TRY(tl_device_open(&s.ctx, o->device, "none", (int)o->threads));
        tl_status status = run(&s, shown[i].run, shown[i].lab);
        tl_device_close(s.ctx);
        return status;
    }
    return TL_FAIL(TL_EINVAL, "lab %ld has nothing to look at", o->lab);
}

int main(int argc, char **argv) {
    wait_patiently(argv);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        words_help(table);
        return 0;
    }
    options_of_show o = {.lab = -1, .device = "cpu", .out = "build/show", .threads = 1, .seed = 1};
    tl_status status = words_read(&o, table, argc - 1, argv + 1);
    if (status == TL_OK) status = show_one(&o);
    status = tl_root_cause(status);
    if (status == TL_OK) return 0;
    say_why("show");
    putc('\n', stderr);
    return 1;
}
