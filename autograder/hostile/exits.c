/* exits.c: ends the program as if all were well. */
#include "hostile.h"

#include <stdlib.h>

void hostile_exits(const hostile_call *call) {
    (void)call;
    exit(0);
}
