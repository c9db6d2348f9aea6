/* allocates_without_end.c: takes memory until there is none, and uses what it got. */
#include "hostile.h"

#include <stdlib.h>
#include <string.h>

void hostile_allocates_without_end(const hostile_call *call) {
    (void)call;
    for (;;) {
        char *block = malloc(64 << 20);
        memset(block, 1, 4096); /* where malloc gave NULL, this is the crash */
    }
}
