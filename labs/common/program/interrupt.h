/* interrupt.h: Ctrl-C and SIGTERM end a run after the step that is running, with its state saved.
 */
#ifndef GRADLAB_INTERRUPT_H
#define GRADLAB_INTERRUPT_H

/* From here on the first SIGINT or SIGTERM is only noted. A second one ends the program at once: a
 * step may hang. */
void interrupt_watch(void);

/* The signal that came, 0 if none did. */
int interrupt_signal(void);

#endif
