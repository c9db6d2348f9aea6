/* module.c: what all modules share: parameters, composition, the walk over a tree (tl/module.h). */
#include "tl/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tl_status tl_module_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x, bool training) {
    return m->forward(m, t, y, x, training);
}

//@lab 4:
static void free_var(tl_var *v) {
    if (!v) return;
    tl_tensor_free(v->value);
    tl_tensor_free(v->grad);
    free(v);
}
//@end

void tl_module_free(tl_module *m) {
    if (!m) return;
    //@lab 4: Give back all that the module owns: children with all that they own, parameters (the
    //@  variable, its value and its gradient), buffers, the list of children, the module.
    //@  Constructors that fail call this for a module that is half made: what is NULL then?
    for (int i = 0; i < m->children; i++) tl_module_free(m->child[i]);
    for (int i = 0; i < TL_MODULE_PARAMS; i++) free_var(m->param[i]);
    for (int i = 0; i < TL_MODULE_BUFFERS; i++) tl_tensor_free(m->buffer[i]);
    free(m->child);
    free(m);
    //@skeleton
    // (void)TL_NOT_IMPLEMENTED();
    //@end
}

static tl_status sequential_forward(tl_module *m, tl_tape *t, tl_var **y, tl_var *x,
                                    bool training) {
    //@lab 4: x through all children, one after the other. What is y if there are none?
    *y = x;
    for (int i = 0; i < m->children; i++)
        TL_TRY(tl_module_forward(m->child[i], t, y, *y, training));
    return TL_OK;
    //@skeleton
    // (void)m, (void)t, (void)y, (void)x, (void)training;
    // return TL_NOT_IMPLEMENTED();
    //@end
}

tl_status tl_module_sequential(tl_module **m, tl_ctx *ctx) {
    *m = calloc(1, sizeof **m);
    TL_NEED(*m, TL_ENOMEM, "no memory for a module");
    (*m)->kind = "sequential";
    (*m)->ctx = ctx;
    (*m)->forward = sequential_forward;
    return TL_OK;
}

/* Given. The child is the sequential's from now on: also where there is no memory for the list. */
tl_status tl_module_append(tl_module *sequential, tl_module *child) {
    if (sequential->children == sequential->capacity) {
        int capacity = sequential->capacity ? 2 * sequential->capacity : 8;
        tl_module **grown = realloc(sequential->child, (size_t)capacity * sizeof *grown);
        if (!grown) {
            tl_module_free(child);
            return TL_FAIL(TL_ENOMEM, "no memory for %d modules", capacity);
        }
        sequential->child = grown;
        sequential->capacity = capacity;
    }
    sequential->child[sequential->children++] = child;
    return TL_OK;
}

//@lab 4:
/* Names of the parameters and buffers of one module, by its kind. */
static const char *const param_name[TL_MODULE_PARAMS] = {"weight", "bias"};
static const char *const buffer_name[TL_MODULE_BUFFERS] = {"running_mean", "running_var"};
//@end

//@lab 4:
/* *index counts the modules met so far that are not a sequential. */
static tl_status visit_tree(tl_module *m, int *index, tl_module_visit_fn visit, void *user) {
    char name[64];
    if (strcmp(m->kind, "sequential") == 0) {
        for (int i = 0; i < m->children; i++) TL_TRY(visit_tree(m->child[i], index, visit, user));
        return TL_OK;
    }
    for (int i = 0; i < TL_MODULE_PARAMS; i++) {
        if (!m->param[i]) continue;
        snprintf(name, sizeof name, "%d.%s.%s", *index, m->kind, param_name[i]);
        TL_TRY(visit(user, name, m->param[i], NULL));
    }
    for (int i = 0; i < TL_MODULE_BUFFERS; i++) {
        if (!m->buffer[i]) continue;
        snprintf(name, sizeof name, "%d.%s.%s", *index, m->kind, buffer_name[i]);
        TL_TRY(visit(user, name, NULL, m->buffer[i]));
    }
    ++*index;
    return TL_OK;
}
//@end

tl_status tl_module_visit(tl_module *m, tl_module_visit_fn visit, void *user) {
    //@lab 4: Call visit for every parameter and buffer of the tree, depth first in order of
    //@  construction: a sequential passes the call on to its children; any other module names its
    //@  own, "<index>.<kind>.weight" and ".bias" for param[0] and [1], ".running_mean" and
    //@  ".running_var" for buffer[0] and [1], where index counts the modules met so far that are
    //@  no sequential. By what do you know one? (tl/module.h; not by its forward function.) Stop at
    //@  the first failure. (snprintf makes the name; 64 bytes are enough.)
    int index = 0;
    return visit_tree(m, &index, visit, user);
    //@skeleton
    // (void)m, (void)visit, (void)user;
    // return TL_NOT_IMPLEMENTED();
    //@end
}
