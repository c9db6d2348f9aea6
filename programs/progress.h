/* progress.h: one line that grows while an epoch runs, on a terminal only. */
#ifndef GRADLAB_PROGRESS_H
#define GRADLAB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct progress {
    bool terminal; /* stderr is one; otherwise nothing is drawn */
    double begin;  /* when counting started */
    double drawn;  /* when the line was drawn last */
    size_t before; /* images that an earlier, resumed run had done of this epoch */
} progress;

/* Seconds of a clock that never goes back. */
double now_seconds(void);

void progress_begin(progress *p, size_t done);
/* Draws "epoch 2/5 [=====>    ] 12800/50000  8123 images/s  5 s left", at most ten times a second.
 * In a narrow terminal the bar shrinks, and parts are left out, so that it stays within a row. */
void progress_show(progress *p, long epoch, long epochs, size_t done, size_t total);
void progress_clear(progress *p);

#endif
