/* tape.c: a tape as text and as a graph (tape.h): through tl_node alone, which every tape has. */
#include "tape.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

typedef struct drawing {
    const tl_params *params;
    const tl_var *made[MOST]; /* results of nodes, each behind what it was made from */
    int count;
} drawing;

static int number_of(const drawing *d, const tl_var *v) {
    for (int i = 0; i < d->count; i++)
        if (d->made[i] == v) return i + 1;
    return 0;
}

/* Depth first: a result comes behind all that went into it. A tape longer than MOST is cut. */
static void collect(drawing *d, const tl_var *v) {
    if (!v || !v->node || number_of(d, v) || d->count == MOST) return;
    for (int i = 0; i < TL_NODE_INPUTS; i++) collect(d, v->node->input[i]);
    if (d->count < MOST) d->made[d->count++] = v;
}

/* "t3", a parameter's name, or "x" for what was put in. */
static const char *name_of(const drawing *d, const tl_var *v, char text[TL_PARAM_NAME]) {
    int number = number_of(d, v);
    snprintf(text, TL_PARAM_NAME, "x");
    for (int i = 0; i < d->params->entries; i++)
        if (d->params->entry[i].var == v)
            snprintf(text, TL_PARAM_NAME, "%s", d->params->entry[i].name);
    if (number) snprintf(text, TL_PARAM_NAME, "t%d", number);
    return text;
}

static void print_one(const drawing *d, const tl_var *v) {
    char name[TL_PARAM_NAME], shape[TL_SHAPE_TEXT];
    printf("  %s%s = %s(", name_of(d, v, name), tl_shape_text(shape, v->value->ndim, v->value->dim),
           v->node->op);
    for (int i = 0; i < TL_NODE_INPUTS && v->node->input[i]; i++) {
        const tl_var *in = v->node->input[i];
        bool made = number_of(d, in) != 0; /* its shape stands above */
        printf("%s%s%s", i ? ", " : "", name_of(d, in, name),
               made ? "" : tl_shape_text(shape, in->value->ndim, in->value->dim));
    }
    printf(")\n");
}

static void write_dot(FILE *file, const drawing *d) {
    char name[TL_PARAM_NAME], shape[TL_SHAPE_TEXT];
    fprintf(file, "digraph tape {\n    rankdir = LR;\n    node [shape = box];\n");
    for (int k = 0; k < d->count; k++) {
        const tl_var *v = d->made[k];
        fprintf(file, "    t%d [label = \"%s\\n%s\"];\n", k + 1, v->node->op,
                tl_shape_text(shape, v->value->ndim, v->value->dim));
        for (int i = 0; i < TL_NODE_INPUTS && v->node->input[i]; i++) {
            const tl_var *in = v->node->input[i];
            name_of(d, in, name);
            if (!number_of(d, in))
                fprintf(file, "    \"%s\" [shape = ellipse, label = \"%s\\n%s\"];\n", name, name,
                        tl_shape_text(shape, in->value->ndim, in->value->dim));
            fprintf(file, "    \"%s\" -> t%d;\n", name, k + 1);
        }
    }
    fprintf(file, "}\n");
}

tl_status show_tape(const show *s, const tl_var *loss, const tl_params *params) {
    drawing d = {.params = params};
    char path[PATH_MAX];
    collect(&d, loss);
    TL_NEED(d.count > 0, TL_EINVAL, "the tape holds nothing: the loss has no node");
    printf("the tape of one step, oldest first:\n");
    for (int i = 0; i < d.count; i++) print_one(&d, d.made[i]);
    snprintf(path, sizeof path, "%.4000s/tape.dot", s->out);
    FILE *file = fopen(path, "w");
    TL_NEED(file, TL_EIO, "cannot write %s: %s", path, strerror(errno));
    write_dot(file, &d);
    TL_NEED(fclose(file) == 0, TL_EIO, "cannot write %s", path);
    printf("(as a graph: dot -Tsvg %s)\n", path);
    return TL_OK;
}
