/* origin.h: the fields that every line of results has: what ran, made from what, where and when. */
#ifndef GRADLAB_ORIGIN_H
#define GRADLAB_ORIGIN_H

#include <stdint.h>

#include "jsonl.h"
#include "tl/context.h"

typedef struct origin {
    const char *program; /* "train" */
    const tl_ctx *ctx;
    const char *dataset, *rungs;
    const char *net; /* NULL: none */
    uint64_t seed;
} origin;

/* Begins a line of that kind and writes its origin; the caller adds fields and ends it. */
void origin_begin(jsonl *j, const char *kind, const origin *o);

#endif
