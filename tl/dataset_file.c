/* dataset_file.c: reading the files of a data set, with nothing about them taken on trust. */
#include "dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tl_status tl_data_path(char path[TL_DATA_PATH], const char *folder, const char *file) {
    int length = snprintf(path, TL_DATA_PATH, "%s/%s", folder, file);
    TL_NEED(length >= 0 && length < TL_DATA_PATH, TL_EINVAL,
            "the path of data file %s would be longer than %d bytes: choose a shorter folder", file,
            TL_DATA_PATH - 1);
    return TL_OK;
}

/* Looks at the open file, not at the path again: what is checked is what will be read. A folder
 * opens like a file and fails only when read, with a message that helps nobody. */
static tl_status check_kind_and_size(const tl_data_file *file, size_t bytes) {
    struct stat about;
    TL_NEED(fstat(file->descriptor, &about) == 0, TL_EIO, "%s: %s; %s", file->path, strerror(errno),
            file->fix);
    TL_NEED(S_ISREG(about.st_mode), TL_EIO, "%s is %s, not a file; %s", file->path,
            S_ISDIR(about.st_mode) ? "a folder" : "a device or pipe", file->fix);
    TL_NEED((unsigned long long)about.st_size == bytes, TL_EFORMAT,
            "%s has %lld bytes, expected %zu (it is %s); %s", file->path, (long long)about.st_size,
            bytes, (unsigned long long)about.st_size < bytes ? "cut short" : "too long", file->fix);
    return TL_OK;
}

tl_status tl_data_open(tl_data_file *file, const tl_data_place *place, const char *name,
                       size_t bytes) {
    file->fix = place->fix;
    TL_TRY(tl_data_path(file->path, place->folder, name));
    /* Without O_NONBLOCK, opening a pipe of that name would wait for ever. */
    do {
        file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file->descriptor < 0 && errno == EINTR);
    TL_NEED(file->descriptor >= 0, TL_EIO, "%s: %s; %s", file->path, strerror(errno), place->fix);
    tl_status status = check_kind_and_size(file, bytes);
    if (status != TL_OK) tl_data_close(file);
    return status;
}

tl_status tl_data_read(tl_data_file *file, void *to, size_t bytes) {
    /* read() may return less than asked for, and a signal may interrupt it: both are no errors. */
    uint8_t *next = to;
    for (size_t left = bytes; left > 0;) {
        ssize_t got = read(file->descriptor, next, left);
        if (got < 0 && errno == EINTR) continue;
        TL_NEED(got >= 0, TL_EIO, "%s: %s; %s", file->path, strerror(errno), file->fix);
        TL_NEED(got > 0, TL_EFORMAT, "%s ended %zu bytes early while it was being read; %s",
                file->path, left, file->fix);
        next += got;
        left -= (size_t)got;
    }
    return TL_OK;
}

void tl_data_close(tl_data_file *file) {
    close(file->descriptor);
    file->descriptor = -1;
}

tl_status tl_split_new(tl_split *split, size_t count, size_t image_bytes) {
    /* both are tried before either is judged: clearing frees whichever was there */
    split->count = count;
    split->images = malloc(count * image_bytes);
    split->labels = malloc(count);
    if (split->images && split->labels) return TL_OK;
    tl_split_clear(split);
    return TL_FAIL(TL_ENOMEM, "no memory for %zu images of %zu bytes", count, image_bytes);
}

void tl_split_clear(tl_split *split) {
    free(split->images);
    free(split->labels);
    *split = (tl_split){0}; /* a second call finds nothing left to free */
}
