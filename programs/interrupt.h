/* interrupt.h: Ctrl-C, SIGTERM and a terminal that closes end a run after the step that is running,
 * with its state saved. */
#ifndef GRADLAB_INTERRUPT_H
#define GRADLAB_INTERRUPT_H

/* From here on the first SIGINT, SIGTERM or SIGHUP (unless nohup has it ignored) is only noted. The
 * second one of its kind ends the program at once: a step may hang. */
void interrupt_watch(void);

/* The signal that came, 0 if none did; and the name of one for people. */
int interrupt_signal(void);
const char *interrupt_name(int signal);

#endif
