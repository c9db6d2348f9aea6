/* ceilings.h: what a device can reach at most, measured. */
#ifndef GRADLAB_CEILINGS_H
#define GRADLAB_CEILINGS_H

#include "tl/context.h"

typedef struct ceilings {
    double flops; /* FLOP/s of a large product, in the context's precision */
    double bytes; /* bytes/s of a large copy, which reads and writes each */
} ceilings;

/* The best of some runs: a ceiling is what can be reached, not what is usual. Products are those of
 * the vendor's library: of ctx->ops->gemm, or in another precision than float's of stored_gemm,
 * TL_ENOTIMPL where ctx has none. */
tl_status ceilings_measure(ceilings *best, tl_ctx *ctx);

#endif
