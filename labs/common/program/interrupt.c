/* interrupt.c: noting a signal for the training loop to look at (interrupt.h). */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal) { came = signal; }

void interrupt_watch(void) {
    /* RESETHAND: the second signal meets the default action. RESTART: a write of results or of a
     * checkpoint that is under way is not cut short. */
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int interrupt_signal(void) { return came; }
