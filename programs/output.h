/* output.h: the folder of a run: one run at a time, and the last two checkpoints. */
#ifndef GRADLAB_OUTPUT_H
#define GRADLAB_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "tl/train.h"

typedef struct output {
    char folder[PATH_MAX - 64];
    char log[PATH_MAX];        /* FOLDER/train.jsonl */
    char checkpoint[PATH_MAX]; /* FOLDER/checkpoint */
    char previous[PATH_MAX];   /* FOLDER/checkpoint.previous */
    char next[PATH_MAX];       /* FOLDER/checkpoint.next, while one is being written */
    int lock;                  /* the open folder, locked for this process; -1: not opened */
    bool saved;                /* `checkpoint` is of this run or the one it resumed, … */
    uint64_t index;            /* … saved after so many steps … */
    uint32_t epoch;            /* … in this epoch */
} output;

/* Makes the folder and locks it. TL_EIO: it cannot be written; TL_EINVAL: another run is in it. */
tl_status output_open(output *out, const char *folder);
void output_close(output *out);

/* tr was put into the state that the file `from` holds: if that is the checkpoint of this folder,
 * that state is saved here already. */
void output_resumed(output *out, const tl_trainer *tr, const char *from);

/* Saves the state of tr, unless that was done; the checkpoint that was there becomes the previous
 * one. On failure, and wherever the program is killed, both files are as they were, or one of them
 * is already what it was to become. */
tl_status output_save(output *out, tl_trainer *tr, const char *describe);

#endif
