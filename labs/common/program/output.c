/* output.c: lock and checkpoints of a run's folder (output.h). */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "run.h"
#include "tl/checkpoint.h"

tl_status output_open(output *out, const char *folder) {
    out->lock = -1;
    TL_NEED(strlen(folder) < sizeof out->folder, TL_EIO, "OUT=%.40s…: the path is too long",
            folder);
    strcpy(out->folder, folder);
    snprintf(out->checkpoint, sizeof out->checkpoint, "%s/checkpoint", folder);
    snprintf(out->previous, sizeof out->previous, "%s/checkpoint.previous", folder);
    snprintf(out->log, sizeof out->log, "%s/train.jsonl", folder);
    TL_TRY(make_folder(folder));
    out->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TL_NEED(out->lock >= 0, TL_EIO, "cannot open folder %s: %s", folder, strerror(errno));
    /* The lock ends with the process, however that ends. Where a file system has no locks, two runs
     * in one folder are not noticed. */
    int held = flock(out->lock, LOCK_EX | LOCK_NB);
    TL_NEED(held == 0 || errno != EWOULDBLOCK, TL_EIO,
            "another run writes to %s; wait for it, or choose another folder with OUT=", folder);
    return TL_OK;
}

void output_close(output *out) {
    if (out->lock >= 0) close(out->lock);
    out->lock = -1;
}

/* A second name for the file that is there, so that at no moment there is none. Where a file system
 * has no hard links the file is renamed: a crash between that and the next save leaves `previous`
 * alone. */
static tl_status keep_previous(const output *out) {
    char part[PATH_MAX + 8];
    snprintf(part, sizeof part, "%s.part", out->previous);
    unlink(part); /* of a run that was killed here */
    if (link(out->checkpoint, part) != 0) {
        if (errno == ENOENT) return TL_OK; /* the first checkpoint of this folder */
        TL_NEED(rename(out->checkpoint, out->previous) == 0, TL_EIO, "cannot rename %s: %s",
                out->checkpoint, strerror(errno));
        return TL_OK;
    }
    TL_NEED(rename(part, out->previous) == 0, TL_EIO, "cannot rename %s: %s", part,
            strerror(errno));
    return TL_OK;
}

tl_status output_save(output *out, tl_trainer *tr, const char *describe) {
    TL_TRY(keep_previous(out));
    return tl_checkpoint_save(tr, out->checkpoint, describe);
}
