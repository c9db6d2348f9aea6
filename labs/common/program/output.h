/* output.h: the folder of a run: one run at a time, and the last two checkpoints. */
#ifndef GRADLAB_OUTPUT_H
#define GRADLAB_OUTPUT_H

#include <limits.h>

#include "tl/train.h"

typedef struct output {
    char folder[PATH_MAX - 64];
    char checkpoint[PATH_MAX],
        previous[PATH_MAX]; /* FOLDER/checkpoint, FOLDER/checkpoint.previous */
    char log[PATH_MAX];     /* FOLDER/train.jsonl */
    int lock;               /* the open folder, locked for this process; -1 before output_open */
} output;

/* Makes the folder and locks it: TL_EIO if it cannot be written, or if another run is in it. */
tl_status output_open(output *out, const char *folder);
void output_close(output *out);

/* Saves the state of tr; the checkpoint that was there becomes the previous one. */
tl_status output_save(output *out, tl_trainer *tr, const char *describe);

#endif
