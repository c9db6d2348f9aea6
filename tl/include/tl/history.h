/* tl/history.h: what the finished epochs of a run came to, a part of its state. (given code)
 *
 * Figures alone, no times: equal runs have equal histories, and a resumed run has that of the whole
 * run from its first epoch on. */
#ifndef TL_HISTORY_H
#define TL_HISTORY_H

#include <stdint.h>

#include "tl/metrics.h"
#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Losses are means over images, accuracies fractions 0..1: those of tl_metrics. */
typedef struct tl_epoch_figures {
    double train_loss, train_acc; /* over the epoch, while the weights changed */
    double test_loss, test_acc;   /* after it */
} tl_epoch_figures;

typedef struct tl_history {
    tl_epoch_figures *epoch; /* owned; [0] is the first epoch */
    uint32_t epochs, room;   /* that are held, that there is memory for */
} tl_history;

/* Appends the figures of an epoch. TL_ENOMEM: no memory; then h is unchanged. */
tl_status tl_history_add(tl_history *h, const tl_metrics *train, const tl_metrics *test);
/* Frees the figures; h is empty then. An all-zero tl_history is empty, too. */
void tl_history_clear(tl_history *h);

#ifdef __cplusplus
}
#endif
#endif
