/* output.c: lock and checkpoints of a run's folder (output.h). */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tl/checkpoint.h"
#include "tl/folder.h"

tl_status output_open(output *out, const char *folder) {
    out->lock = -1;
    out->saved = false;
    TL_NEED(strlen(folder) < sizeof out->folder, TL_EINVAL, "OUT=%.40s…: the path is too long",
            folder);
    strcpy(out->folder, folder);
    snprintf(out->log, sizeof out->log, "%s/train.jsonl", folder);
    snprintf(out->checkpoint, sizeof out->checkpoint, "%s/checkpoint", folder);
    snprintf(out->previous, sizeof out->previous, "%s/checkpoint.previous", folder);
    snprintf(out->next, sizeof out->next, "%s/checkpoint.next", folder);
    TL_TRY(tl_make_folder(folder, ""));
    out->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TL_NEED(out->lock >= 0, TL_EIO, "cannot open folder %s: %s", folder, strerror(errno));
    /* The lock ends with the process, however that ends. Where a file system has no locks, two runs
     * in one folder are not noticed. */
    int held = flock(out->lock, LOCK_EX | LOCK_NB);
    TL_NEED(held == 0 || errno != EWOULDBLOCK, TL_EINVAL,
            "another run writes to %s; wait for it, or choose another folder with OUT=", folder);
    return TL_OK;
}

void output_close(output *out) {
    if (out->lock >= 0) close(out->lock);
    out->lock = -1;
}

static tl_status move(const char *from, const char *to) {
    TL_NEED(rename(from, to) == 0, TL_EIO, "cannot rename %s to %s: %s", from, to, strerror(errno));
    return TL_OK;
}

static void note_saved(output *out, const tl_trainer *tr) {
    out->saved = true;
    out->index = tr->index;
    out->epoch = tr->epoch;
}

/* By file, not by name: there are many ways to write a path. */
void output_resumed(output *out, const tl_trainer *tr, const char *from) {
    struct stat ours, theirs;
    if (stat(out->checkpoint, &ours) == 0 && stat(from, &theirs) == 0 &&
        ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
        note_saved(out, tr);
}

/* `previous` becomes a second name of the file called `checkpoint`, so that at no moment there is
 * none. Where a file system has no hard links the file is renamed: a crash before the next rename
 * leaves `previous` and `next`. */
static tl_status keep_previous(const output *out) {
    char part[PATH_MAX + 8];
    snprintf(part, sizeof part, "%s.part", out->previous);
    unlink(part); /* of a run that was killed here */
    if (link(out->checkpoint, part) != 0)
        return errno == ENOENT ? TL_OK /* the first checkpoint of this folder */
                               : move(out->checkpoint, out->previous);
    TL_TRY(move(part, out->previous));
    unlink(part); /* still there if a killed run had left `previous` as the same file: no rename */
    return TL_OK;
}

/* The new state is whole and on the disk, under a name of its own, before an old one is touched: a
 * full disk costs neither of the old ones, and RESUME=previous beside a damaged `checkpoint` does
 * not lose the sound file to it. */
tl_status output_save(output *out, tl_trainer *tr, const char *describe) {
    if (out->saved && out->index == tr->index && out->epoch == tr->epoch) return TL_OK;
    TL_TRY(tl_checkpoint_save(tr, out->next, describe));
    TL_TRY(keep_previous(out));
    TL_TRY(move(out->next, out->checkpoint));
    /* EINVAL: this kind of file system has no such thing as syncing a folder. */
    TL_NEED(fsync(out->lock) == 0 || errno == EINVAL, TL_EIO, "cannot sync folder %s: %s",
            out->folder, strerror(errno));
    note_saved(out, tr);
    return TL_OK;
}
