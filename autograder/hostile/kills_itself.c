/* kills_itself.c: ends by a signal that nobody can catch. */
#include "hostile.h"

#include <signal.h>
#include <unistd.h>

void hostile_kills_itself(const hostile_call *call) {
    (void)call;
    kill(getpid(), SIGKILL);
    raise(SIGKILL); /* which takes another system call */
}
