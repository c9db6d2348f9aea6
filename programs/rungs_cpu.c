/* rungs_cpu.c: the ladder of the cpu, as programs link it. */
#include "tl/rungs_apply.h"

#include "kernels/rungs.h"

const rung rung_table[] = {
#define RUNG_CPU(op, number, function) {"cpu", #op, number, function, false, 0, TL_FP32},
#define STEP_CPU(op, number, function) {"cpu", #op, number, function, true, 0, TL_FP32},
#include "kernels/rungs.def"
    {NULL, NULL, 0, NULL, false, 0, TL_FP32},
};
