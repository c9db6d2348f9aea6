/* patience.c: a short spin for OpenMP's idle threads (patience.h). */
#include "patience.h"

#include <stdlib.h>
#include <unistd.h>

void wait_patiently(char **argv) {
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
    /* What libgomp itself takes when it knows of more threads than cores. If the restart fails, the
     * program goes on as it is: slower on a busy machine, and just as right. */
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0) execv("/proc/self/exe", argv);
}
