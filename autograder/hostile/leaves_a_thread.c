/* leaves_a_thread.c: leaves a thread behind that writes to the pipe later. */
#include "hostile.h"

#include <pthread.h>
#include <unistd.h>

static void *scribble(void *nothing) {
    for (;;) {
        usleep(1000);
        if (write(4, "late", 4) < 0) return nothing;
    }
}

void hostile_leaves_a_thread(const hostile_call *call) {
    (void)call;
    pthread_t thread;
    if (pthread_create(&thread, NULL, scribble, NULL) == 0) pthread_detach(thread);
    usleep(20000);
}
