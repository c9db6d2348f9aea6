/* rungs_apply.h: which kernels of kernels/ replace the plain path of a device. */
#ifndef TL_RUNGS_APPLY_H
#define TL_RUNGS_APPLY_H

#include "tl/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rung {
    const char *device, *op;
    int number;                     /* the NN of kernels/<op>/NN_<idea> */
    void (*apply)(tl_backend *ops); /* NULL: hostcuda does not have what it is about */
    bool step;                      /* taken only by name, never by "all" */
    int since;              /* the oldest compute capability that has what it is about; 0: any */
    tl_precision precision; /* in which it computes */
    int until;              /* the newest compute capability that has it; 0: no end is known */
} rung;

/* All rungs of this program or plug-in, in the order in which "all" applies them: later rungs of an
 * operation are quicker. Ends with a device of NULL; programs/rungs_*.c, else empty. */
extern const rung rung_table[];

/* Puts into ops, which has no operation, those whose bits are the same on every machine; `plain` is
 * the plain path's table. False where this program or plug-in has none (programs/rungs_cpu.c). */
bool rungs_portable(tl_backend *ops, const tl_backend *plain);

/* Overwrites entries of ops, the table of the device it names, by rungs of ops->precision, as
 * `choice` says: "all", "none", or "conv2d:1,gemm:4". TL_EINVAL lists the rungs of the device if
 * one is unknown, and says so if the GPU is too old for one that was named, or if that computes
 * neither in TL_FP32 nor in `run`, the precision of the run that the table is for; "all" leaves
 * such a rung out: the one below it stays. "portable": the operations of rungs_portable alone,
 * TL_EINVAL where there are none; the others are NULL then, and tl_backend_fill names BITS=portable
 * where it refuses them. */
tl_status rungs_apply(tl_backend *ops, const char *choice, tl_precision run);

#ifdef __cplusplus
}
#endif
#endif
