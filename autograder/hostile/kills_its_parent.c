/* kills_its_parent.c: kills whoever started it, and everybody else that it can. */
#include "hostile.h"

#include <signal.h>
#include <unistd.h>

void hostile_kills_its_parent(const hostile_call *call) {
    (void)call;
    if (getppid() > 1) kill(getppid(), SIGKILL);
}
