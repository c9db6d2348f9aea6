/* forks.c: comes back twice from one call. */
#include "hostile.h"

#include <unistd.h>

void hostile_forks(const hostile_call *call) {
    (void)call;
    pid_t child = fork();
    if (child < 0) _exit(9);
}
