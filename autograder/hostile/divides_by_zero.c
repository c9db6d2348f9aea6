/* divides_by_zero.c: divides an integer by 0. */
#include "hostile.h"

void hostile_divides_by_zero(const hostile_call *call) {
    volatile int none = 0;
    call->out[0] = (tl_real)(7 / none);
}
