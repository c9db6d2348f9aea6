/* worker_main.c: the program that holds the judged code; started by the grader alone.
 *
 * It is on the untrusted side: the judged code shares its memory and may do anything to it. So it
 * only carries bytes to the code and back, and judges nothing. */
#include "worker.h"

#include <signal.h>
#include <stdio.h>

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what was printed before a crash is not lost */
    worker_watch_crashes();
    return worker_serve();
}
