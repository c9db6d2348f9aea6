/* history.c: the figures of a run's finished epochs, in memory and in its checkpoint
 * (tl/history.h).
 */
#include "history_internal.h"

#include <stdlib.h>
#include <string.h>

/* Of a row, all of them doubles. */
enum { FIGURES = sizeof(tl_epoch_figures) / sizeof(double) };

/* Doubles the room, so that adding epoch by epoch copies each figure a few times at most. */
static tl_status make_room(tl_history *h, uint32_t epochs) {
    if (epochs <= h->room) return TL_OK;
    uint32_t room = h->room < 8 ? 16 : h->room < UINT32_MAX / 2 ? 2 * h->room : UINT32_MAX;
    if (room < epochs) room = epochs;
    tl_epoch_figures *epoch = realloc(h->epoch, (size_t)room * sizeof *epoch);
    TL_NEED(epoch != NULL, TL_ENOMEM, "out of host memory for the figures of %lu epochs",
            (unsigned long)epochs);
    h->epoch = epoch;
    h->room = room;
    return TL_OK;
}

tl_status tl_history_add(tl_history *h, const tl_metrics *train, const tl_metrics *test) {
    TL_NEED(h->epochs < UINT32_MAX, TL_EINVAL, "a run has no more than 2^32 - 1 epochs");
    TL_TRY(make_room(h, h->epochs + 1));
    h->epoch[h->epochs++] = (tl_epoch_figures){.train_loss = train->loss,
                                               .train_acc = train->accuracy,
                                               .test_loss = test->loss,
                                               .test_acc = test->accuracy};
    return TL_OK;
}

void tl_history_clear(tl_history *h) {
    free(h->epoch);
    *h = (tl_history){0};
}

/* ---- the section of a checkpoint ---------------------------------------------------------------
 */

int tl_history_sections(uint32_t epochs) { return epochs > 0; }

tl_status tl_history_write(const tl_history *h, tl_writer *w) {
    if (h->epochs == 0) return TL_OK;
    return tl_writer_add(w, "history", TL_F64, 2, (uint64_t[]){h->epochs, FIGURES}, h->epoch);
}

static int is_fraction(double x) { return x >= 0 && x <= 1; }

/* A loss may be any number: a run whose weights have just left the range of numbers was saved, too.
 * An accuracy is a count over a count. */
tl_status tl_history_prepare(tl_history *h, const tl_record *r, uint32_t epochs) {
    const tl_section *s;
    if (epochs == 0) return TL_OK; /* whoever counts the sections sees one too many */
    TL_TRY(tl_record_find(r, &s, "history", TL_F64, (uint64_t)epochs * FIGURES));
    TL_NEED(s->ndim == 2 && s->dim[0] == epochs && s->dim[1] == FIGURES, TL_EFORMAT,
            "%s: section \"history\" has another shape than [%lu,%d], as many elements", r->path,
            (unsigned long)epochs, FIGURES);
    const tl_epoch_figures *row = s->data;
    for (uint32_t i = 0; i < epochs; i++)
        TL_NEED(is_fraction(row[i].train_acc) && is_fraction(row[i].test_acc), TL_EFORMAT,
                "%s: section \"history\" holds an accuracy outside 0..1 for epoch %lu", r->path,
                (unsigned long)i + 1);
    return make_room(h, epochs);
}

tl_status tl_history_read(tl_history *h, const tl_record *r, uint32_t epochs) {
    const tl_section *s;
    h->epochs = 0;
    if (epochs == 0) return TL_OK;
    TL_TRY(tl_record_find(r, &s, "history", TL_F64, (uint64_t)epochs * FIGURES));
    memcpy(h->epoch, s->data, (size_t)epochs * sizeof *h->epoch);
    h->epochs = epochs;
    return TL_OK;
}
