/* interrupt.c: noting a signal for the training loop to look at (interrupt.h). */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static const struct {
    int number;
    const char *name;
} watched[] = {{SIGINT, "Ctrl-C"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};

static volatile sig_atomic_t came;

static void note(int signal) { came = signal; }

void interrupt_watch(void) {
    /* RESETHAND: the second signal meets the default action. RESTART: a write of results or of a
     * checkpoint that is under way is not cut short. */
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESETHAND | SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        /* nohup ignores SIGHUP so that the run outlives its terminal: it must go on doing so */
        sigaction(watched[i].number, NULL, &before);
        if (watched[i].number == SIGHUP && before.sa_handler == SIG_IGN) continue;
        sigaction(watched[i].number, &action, NULL);
    }
}

int interrupt_signal(void) { return came; }

const char *interrupt_name(int signal) {
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        if (watched[i].number == signal) return watched[i].name;
    return "";
}
