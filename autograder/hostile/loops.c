/* loops.c: computes for ever. */
#include "hostile.h"

void hostile_loops(const hostile_call *call) {
    volatile tl_real *out = call->out;
    for (;;) out[0] = 1;
}
