/* rungs_cpu.c: the rungs of the cpu, in the order in which "all" applies them. */
#include "rungs.h"

#include "kernels/rungs.h"

const rung rung_table[] = {
    {"cpu", "conv2d", 1, tl_rung_conv2d_direct},
    {NULL, NULL, 0, NULL},
};
