/* params.c: the parameters of a net moved into one flat piece of memory (tl/params.h). */
#include "tl/params.h"

#include "tl/backend.h"

#include <stdlib.h>
#include <string.h>

enum { PARAM_ALIGNMENT = 64 }; /* elements: 256 bytes in float, as aligned as a block of its own */

/* Lists one parameter or buffer and lays out its place; moves nothing yet. */
static tl_status list_entry(void *user, const char *name, tl_var *var, tl_tensor *buffer) {
    tl_params *p = user;
    TL_NEED(strlen(name) < TL_PARAM_NAME, TL_EINVAL, "parameter name \"%s\" exceeds %d characters",
            name, TL_PARAM_NAME - 1);
    if (var != NULL) {
        TL_NEED(var->value != NULL && var->grad != NULL, TL_EINVAL,
                "parameter %s has no value or no gradient", name);
        /* A view would leave its true owner behind, and that owner would free what is in use here.
         */
        TL_NEED(var->value->owner && var->grad->owner, TL_EINVAL,
                "parameter %s does not own its memory: is the net in flat arrays already?", name);
        TL_NEED(tl_tensor_same_shape(var->value, var->grad), TL_ESHAPE,
                "value and gradient of parameter %s differ in shape", name);
    }
    void *longer = realloc(p->entry, ((size_t)p->entries + 1) * sizeof *p->entry);
    TL_NEED(longer != NULL, TL_ENOMEM, "out of host memory for parameter %s", name);
    p->entry = longer;
    tl_param *entry = &p->entry[p->entries++];
    *entry = (tl_param){.var = var, .buffer = buffer, .offset = p->size};
    strcpy(entry->name, name);
    if (var == NULL) return TL_OK;
    /* Only parameters take room in the arrays; a buffer keeps its own memory. */
    size_t units = (var->value->size + PARAM_ALIGNMENT - 1) / PARAM_ALIGNMENT;
    p->size += units * PARAM_ALIGNMENT;
    p->count += var->value->size;
    return TL_OK;
}

/* Takes the two arrays, all zeros (the gaps stay so), and copies the values in. */
static tl_status fill_arrays(tl_params *p) {
    tl_ctx *ctx = p->ctx;
    const size_t bytes = p->size * sizeof(tl_real);
    void *block;
    TL_TRY(tl_alloc_get(ctx->alloc, &block, bytes));
    p->value = block;
    TL_TRY(tl_alloc_get(ctx->alloc, &block, bytes));
    p->grad = block;
    TL_TRY(ctx->ops->zero(ctx, p->value, bytes));
    TL_TRY(tl_params_zero_grad(p));
    for (int i = 0; i < p->entries; i++) {
        const tl_param *entry = &p->entry[i];
        if (entry->var == NULL) continue;
        const tl_tensor *value = entry->var->value;
        TL_TRY(ctx->ops->copy(ctx, p->value + entry->offset, value->data,
                              value->size * sizeof(tl_real)));
    }
    return TL_OK;
}

/* Makes a tensor a view of `data`; its own memory goes back. The copy out of it may still be
 * queued: later users of that block queue behind it. */
static tl_status become_view(tl_tensor *t, tl_real *data) {
    TL_TRY(tl_alloc_put(t->ctx->alloc, t->data));
    t->data = data;
    t->owner = false;
    return TL_OK;
}

/* From here on the net lives in the arrays. Nothing below can fail for tensors that list_entry let
 * pass, except an allocator that does not know them. */
static tl_status adopt(tl_params *p) {
    for (int i = 0; i < p->entries; i++) {
        const tl_param *entry = &p->entry[i];
        if (entry->var == NULL) continue;
        TL_TRY(become_view(entry->var->value, p->value + entry->offset));
        TL_TRY(become_view(entry->var->grad, p->grad + entry->offset));
    }
    return TL_OK;
}

/* All that can run out or be refused comes before the first tensor changes hands. */
tl_status tl_params_new(tl_params **params, tl_module *net) {
    *params = NULL;
    tl_params *p = calloc(1, sizeof *p);
    TL_NEED(p != NULL, TL_ENOMEM, "out of host memory for the list of parameters");
    p->ctx = net->ctx;
    tl_status status = tl_module_visit(net, list_entry, p);
    if (status == TL_OK && p->count == 0)
        status = TL_FAIL(TL_EINVAL, "tl_module_visit shows no parameters of the net: look at it in "
                                    "module.c (a block is a sequential too: tl/module.h)");
    if (status == TL_OK) status = fill_arrays(p);
    if (status == TL_OK) status = adopt(p);
    if (status != TL_OK)
        tl_params_free(p);
    else
        *params = p;
    return status;
}

/* Both arrays may be NULL, when tl_params_new failed early. */
void tl_params_free(tl_params *p) {
    if (p == NULL) return;
    tl_alloc_put(p->ctx->alloc, p->value);
    tl_alloc_put(p->ctx->alloc, p->grad);
    free(p->entry);
    free(p);
}

/* With the gaps: one piece of memory, one call. */
tl_status tl_params_zero_grad(tl_params *p) {
    return p->ctx->ops->zero(p->ctx, p->grad, p->size * sizeof(tl_real));
}
