/* sleeps.c: waits for what never comes. */
#include "hostile.h"

#include <unistd.h>

void hostile_sleeps(const hostile_call *call) {
    (void)call;
    for (;;) pause();
}
