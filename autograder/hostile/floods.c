/* floods.c: prints without end. */
#include "hostile.h"

#include <stdio.h>

void hostile_floods(const hostile_call *call) {
    (void)call;
    for (;;) puts("a line of debugging output that somebody forgot in an inner loop");
}
