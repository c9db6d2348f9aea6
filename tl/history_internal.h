/* history_internal.h: the history of a run as a section of its checkpoint (history.c).
 *
 * The section "history" holds f64[epochs,4], a row for each epoch in the order of tl_epoch_figures.
 * Before the end of the first epoch there is none, for a section has no dim of 0. */
#ifndef TL_HISTORY_INTERNAL_H
#define TL_HISTORY_INTERNAL_H

#include "tl/history.h"
#include "tl/record.h"

/* How many sections a history of so many epochs is: 0 or 1. */
int tl_history_sections(uint32_t epochs);

tl_status tl_history_write(const tl_history *h, tl_writer *w);

/* The section holds sound figures of exactly that many epochs, and h has room for them; what h
 * holds is unchanged. TL_EFORMAT names what is wrong. */
tl_status tl_history_prepare(tl_history *h, const tl_record *r, uint32_t epochs);
/* Takes over what was prepared; cannot fail then. */
tl_status tl_history_read(tl_history *h, const tl_record *r, uint32_t epochs);

#endif
