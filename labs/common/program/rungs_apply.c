/* rungs_apply.c: the table of all rungs, and the choice among them. */
#include "rungs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rungs.h"

typedef struct rung {
    const char *device, *op;
    int number; /* the NN of kernels/<op>/NN_<idea> */
    void (*apply)(tl_backend *ops);
} rung;

/* In the order in which "all" applies them: later rungs of an operation are quicker. */
static const rung table[] = {
    {"cpu", "conv2d", 1, tl_rung_conv2d_direct},
};
enum { RUNGS = sizeof table / sizeof table[0] };

/* "conv2d:1, …" of one device, for messages. */
static void list_rungs(char *text, size_t size, const char *device) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < RUNGS; i++) {
        if (strcmp(table[i].device, device) != 0 || used >= size) continue;
        int wrote = snprintf(text + used, size - used, "%s%s:%d", used ? ", " : "", table[i].op,
                             table[i].number);
        if (wrote > 0) used += (size_t)wrote;
    }
}

static tl_status apply_one(tl_backend *ops, const char *word, size_t length) {
    for (int i = 0; i < RUNGS; i++) {
        char name[64];
        int size = snprintf(name, sizeof name, "%s:%d", table[i].op, table[i].number);
        if (strcmp(table[i].device, ops->name) == 0 && (size_t)size == length &&
            strncmp(name, word, length) == 0) {
            table[i].apply(ops);
            return TL_OK;
        }
    }
    char known[256];
    list_rungs(known, sizeof known, ops->name);
    return TL_FAIL(TL_EINVAL, "RUNGS=%.*s: no such rung for device %s; use all, none, or some of: %s",
                   (int)length, word, ops->name, known);
}

tl_status rungs_apply(tl_backend *ops, const char *choice) {
    if (strcmp(choice, "none") == 0) return TL_OK;
    if (strcmp(choice, "all") == 0) {
        for (int i = 0; i < RUNGS; i++)
            if (strcmp(table[i].device, ops->name) == 0) table[i].apply(ops);
        return TL_OK;
    }
    for (const char *word = choice;;) {
        size_t length = strcspn(word, ",");
        TL_TRY(apply_one(ops, word, length));
        if (word[length] == '\0') return TL_OK;
        word += length + 1;
    }
}
