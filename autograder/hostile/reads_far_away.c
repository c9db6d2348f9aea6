/* reads_far_away.c: reads beyond everything. */
#include "hostile.h"

void hostile_reads_far_away(const hostile_call *call) {
    const volatile tl_real *in = call->in;
    call->out[0] = in[(size_t)1 << 36];
}
