/* survives_signals.c: ignores every signal that it can, then hangs. */
#include "hostile.h"

#include <signal.h>
#include <unistd.h>

void hostile_survives_signals(const hostile_call *call) {
    volatile tl_real *out = call->out;
    for (int number = 1; number < 32; number++) signal(number, SIG_IGN);
    for (;;) out[0] = 1;
}
