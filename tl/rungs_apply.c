/* rungs_apply.c: the choice among the rungs of a device. */
#include "rungs_apply.h"

#include <stdio.h>
#include <string.h>

/* Where no ladder is linked (beside a student's code, rungs being ours): the plain path alone. */
__attribute__((weak)) const rung rung_table[] = {{NULL, NULL, 0, NULL, false, 0, TL_FP32, 0}};
__attribute__((weak)) bool rungs_portable(tl_backend *ops, const tl_backend *plain) {
    (void)ops, (void)plain;
    return false;
}

/* (a plug-in has no tl_precision_name) */
static const char *const precisions[TL_PRECISIONS] = TL_PRECISION_NAMES;

/* "conv2d:1, …" of one device, for messages. */
static void list_rungs(char *text, size_t size, const char *device) {
    size_t used = 0;
    snprintf(text, size, "(it has none)");
    for (const rung *r = rung_table; r->device; r++) {
        if (strcmp(r->device, device) != 0 || used >= size) continue;
        int wrote =
            snprintf(text + used, size - used, "%s%s:%d", used ? ", " : "", r->op, r->number);
        if (wrote > 0) used += (size_t)wrote;
    }
}

static bool too_old(const tl_backend *ops, const rung *r) {
    return ops->capability != 0 && ops->capability < r->since;
}
static bool too_new(const tl_backend *ops, const rung *r) {
    return r->until != 0 && ops->capability > r->until;
}

static tl_status apply_one(tl_backend *ops, const char *word, size_t length, tl_precision run) {
    for (const rung *r = rung_table; r->device; r++) {
        char name[64];
        int size = snprintf(name, sizeof name, "%s:%d", r->op, r->number);
        if (strcmp(r->device, ops->name) == 0 && (size_t)size == length &&
            strncmp(name, word, length) == 0) {
            TL_NEED(!too_old(ops, r), TL_EINVAL,
                    "RUNGS=%s: it needs a GPU of compute capability %d.%d or newer, and this one "
                    "has %d.%d; use %s:%d",
                    name, r->since / 10, r->since % 10, ops->capability / 10, ops->capability % 10,
                    r->op, r->number - 1);
            TL_NEED(r->apply && !too_new(ops, r), TL_EINVAL,
                    "RUNGS=%s: it is made of instructions of compute capability %d.%d alone, "
                    "which %s does not have; use a rung before it",
                    name, r->since / 10, r->since % 10, r->apply ? "this GPU" : ops->name);
            TL_NEED(r->precision == TL_FP32 || r->precision == run, TL_EINVAL,
                    "RUNGS=%s: it computes in %s; use PRECISION=%s", name, precisions[r->precision],
                    precisions[r->precision]);
            if (r->precision == ops->precision) r->apply(ops);
            return TL_OK;
        }
    }
    char known[1024];
    list_rungs(known, sizeof known, ops->name);
    return TL_FAIL(TL_EINVAL,
                   "RUNGS=%.*s: no such rung for device %s; use all, none, or some of: %s",
                   (int)length, word, ops->name, known);
}

/* Takes every operation out, so that none stays which nobody has vouched for. */
static tl_status apply_portable(tl_backend *ops) {
    const tl_backend plain = *ops;
#define OP(name, ...) ops->name = NULL;
#define OP_CUDA       OP
#define OP_FUSED      OP
#include "tl/ops.def"
    ops->conv2d_work_bytes = NULL;
    ops->conv2d_block_fits = NULL;
    ops->net_plan = NULL;
    ops->net_fwd = NULL;
    ops->net_bwd = NULL;
    ops->portable = true;
    TL_NEED(rungs_portable(ops, &plain), TL_EINVAL,
            "BITS=portable: device %s has no such kernels here; they need DEVICE=cpu, a build for "
            "processors with fused multiply-add (ARCH=native or ARCH=x86-64-v3), and no MINE=1",
            ops->name);
    return TL_OK;
}

tl_status rungs_apply(tl_backend *ops, const char *choice, tl_precision run) {
    if (strcmp(choice, "none") == 0) return TL_OK;
    /* (what rounds in another precision calls the operations that were put in before it) */
    if (strcmp(choice, "portable") == 0)
        return ops->precision == TL_FP32 ? apply_portable(ops) : TL_OK;
    if (strcmp(choice, "all") == 0) {
        for (const rung *r = rung_table; r->device; r++)
            if (strcmp(r->device, ops->name) == 0 && !r->step && !too_old(ops, r) &&
                !too_new(ops, r) && r->apply && r->precision == ops->precision)
                r->apply(ops);
        return TL_OK;
    }
    for (const char *word = choice;;) {
        size_t length = strcspn(word, ",");
        TL_TRY(apply_one(ops, word, length, run));
        if (word[length] == '\0') return TL_OK;
        word += length + 1;
    }
}
