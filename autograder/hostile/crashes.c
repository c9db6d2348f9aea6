/* crashes.c: follows a null pointer. */
#include "hostile.h"

void hostile_crashes(const hostile_call *call) {
    (void)call;
    volatile tl_real *volatile nowhere = NULL;
    *nowhere = 1;
}
