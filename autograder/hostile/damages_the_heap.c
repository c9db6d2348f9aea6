/* damages_the_heap.c: writes far past the end of its array, over whatever lies there. */
#include "hostile.h"

void hostile_damages_the_heap(const hostile_call *call) {
    volatile tl_real *out = call->out;
    for (size_t i = 0; i < 1 << 20; i++) out[call->n + i] = 7;
}
