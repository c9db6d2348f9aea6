/* aborts.c: ends as a failed assert does. */
#include "hostile.h"

#include <stdlib.h>

void hostile_aborts(const hostile_call *call) {
    (void)call;
    abort();
}
