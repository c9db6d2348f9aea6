/* rungs_cpu.c: the ladder of the cpu, as programs link it. */
#include "tl/rungs_apply.h"

#include "kernels/rungs.h"
#include "kernels/vector.h"

const rung rung_table[] = {
#define RUNG_CPU(op, number, function) {"cpu", #op, number, function, false, 0, TL_FP32, 0},
#define STEP_CPU(op, number, function) {"cpu", #op, number, function, true, 0, TL_FP32, 0},
#include "kernels/rungs.def"
    {NULL, NULL, 0, NULL, false, 0, TL_FP32, 0},
};

/* (a build for a machine without fma rounds twice: it has no such table) */
#if VEC_SAME_BITS
bool rungs_portable(tl_backend *ops, const tl_backend *plain) {
#define PORTABLE_PLAIN(operation) ops->operation = plain->operation;
#define PORTABLE(function)        function(ops);
#include "kernels/rungs.def"
    return true;
}
#endif
