/* jsonl.h: one JSON object per line, flushed line by line, so that a killed run leaves whole lines.
 */
#ifndef GRADLAB_JSONL_H
#define GRADLAB_JSONL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tl/status.h"

typedef struct jsonl {
    FILE *file;
    const char *path;
    bool first; /* no field of the current line written yet */
} jsonl;

/* append keeps the lines that are there (a resumed run). TL_EIO names path and reason. */
tl_status jsonl_open(jsonl *j, const char *path, bool append);
/* Whether a line of the file, as it is on the disk now, holds this text. TL_EIO: cannot be read. */
tl_status jsonl_holds(const jsonl *j, const char *text, bool *found);
void jsonl_close(jsonl *j); /* a jsonl that was zeroed and never opened is allowed */

void jsonl_begin(jsonl *j);
void jsonl_text(jsonl *j, const char *name, const char *value);
void jsonl_whole(jsonl *j, const char *name, uint64_t value);
/* 17 significant digits; JSON has no NaN or infinity, so those become null. */
void jsonl_number(jsonl *j, const char *name, double value);
void jsonl_numbers(jsonl *j, const char *name, const double value[], int count);
/* Ends and flushes the line; TL_EIO if any of it could not be written. */
tl_status jsonl_end(jsonl *j);

#endif
