/* writes_before_the_start.c: writes in front of its array. */
#include "hostile.h"

void hostile_writes_before_the_start(const hostile_call *call) {
    volatile tl_real *out = call->out;
    out[-3] = 1;
}
