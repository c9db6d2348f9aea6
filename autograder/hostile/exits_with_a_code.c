/* exits_with_a_code.c: ends the program without running anything that waits for its end. */
#include "hostile.h"

#include <unistd.h>

void hostile_exits_with_a_code(const hostile_call *call) {
    (void)call;
    _exit(3);
}
