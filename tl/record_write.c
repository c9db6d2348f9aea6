/* record_write.c: writing record files, all or nothing (tl/record.h). */
#include "record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tl_writer {
    char *path, *part; /* the file wanted, and PATH.part while it is being written */
    FILE *file;        /* NULL once it is closed */
    bool closed;       /* a write failed or the file is in place: only discard is left to do */
    uint32_t sections;
    char (*name)[TL_SECTION_NAME]; /* of the sections so far: names must be unique */
};

/* No default in these switches: the compiler then names the enumerator that a later dtype forgot.
 * What falls through is a number from a file, or a caller's mistake. */
size_t tl_dtype_bytes(tl_dtype dtype) {
    switch (dtype) {
    case TL_U8:
        return 1;
    case TL_I32:
    case TL_U32:
    case TL_F32:
        return 4;
    case TL_U64:
    case TL_F64:
        return 8;
    }
    return 0;
}

const char *tl_dtype_name(tl_dtype dtype) {
    switch (dtype) {
    case TL_U8:
        return "u8";
    case TL_I32:
        return "i32";
    case TL_U32:
        return "u32";
    case TL_U64:
        return "u64";
    case TL_F32:
        return "f32";
    case TL_F64:
        return "f64";
    }
    return "unknown";
}

/* Notes that the part is damaged, and says which call failed and why. */
static tl_status write_failed(tl_writer *w, const char *doing) {
    w->closed = true;
    return TL_FAIL(TL_EIO, "cannot %s %s: %s", doing, w->part, strerror(errno));
}

static void writer_free(tl_writer *w) {
    free(w->path);
    free(w->part);
    free(w->name);
    free(w);
}

/* A short fwrite is a failed one: stdio repeats partial writes itself. */
static tl_status put_bytes(tl_writer *w, const void *data, size_t bytes) {
    if (fwrite(data, 1, bytes, w->file) != bytes) return write_failed(w, "write");
    return TL_OK;
}

/* The number of sections is known only at the end: commit writes the header a second time. */
static tl_status put_header(tl_writer *w) {
    file_header header = {.version = TL_RECORD_VERSION, .sections = w->sections};
    memcpy(header.magic, RECORD_MAGIC, sizeof header.magic);
    return put_bytes(w, &header, sizeof header);
}

tl_status tl_writer_open(tl_writer **writer, const char *path) {
    *writer = NULL;
    tl_writer *w = calloc(1, sizeof *w);
    TL_NEED(w != NULL, TL_ENOMEM, "out of host memory for writing %s", path);
    size_t length = strlen(path);
    w->path = strdup(path);
    w->part = malloc(length + sizeof ".part");
    if (w->path == NULL || w->part == NULL) {
        writer_free(w);
        return TL_FAIL(TL_ENOMEM, "out of host memory for writing %s", path);
    }
    memcpy(w->part, path, length);
    memcpy(w->part + length, ".part", sizeof ".part");
    /* What a killed run left here is overwritten: nobody but its writer could have used it. */
    w->file = fopen(w->part, "wb");
    if (w->file == NULL) {
        tl_status status = write_failed(w, "create");
        writer_free(w);
        return status;
    }
    tl_status status = put_header(w);
    if (status != TL_OK) {
        tl_writer_discard(&w);
        return status;
    }
    *writer = w;
    return TL_OK;
}

/* Keeps the name of the next section, zero-padded; refuses what a reader would refuse. */
static tl_status add_name(tl_writer *w, const char *name) {
    size_t length = strlen(name);
    TL_NEED(length > 0 && length < TL_SECTION_NAME, TL_EINVAL,
            "section name \"%s\" has %zu characters, 1 to %d allowed", name, length,
            TL_SECTION_NAME - 1);
    /* Quadratic, but a net has tens of sections, and the names come from our own programs. */
    for (uint32_t i = 0; i < w->sections; i++)
        TL_NEED(strcmp(w->name[i], name) != 0, TL_EINVAL, "two sections are called \"%s\"", name);
    void *longer = realloc(w->name, (w->sections + (size_t)1) * sizeof *w->name);
    TL_NEED(longer != NULL, TL_ENOMEM, "out of host memory for section \"%s\"", name);
    w->name = longer;
    memset(w->name[w->sections], 0, sizeof *w->name);
    memcpy(w->name[w->sections], name, length);
    return TL_OK;
}

tl_status tl_writer_add(tl_writer *w, const char *name, tl_dtype dtype, int ndim,
                        const uint64_t dim[], const void *data) {
    TL_NEED(!w->closed, TL_EINVAL, "%s takes no more after a failed write: discard it", w->part);
    TL_NEED(tl_dtype_bytes(dtype) > 0, TL_EINVAL, "section \"%s\": unknown dtype %d", name,
            (int)dtype);
    TL_NEED(ndim >= 1 && ndim <= TL_SECTION_DIMS, TL_EINVAL, "section \"%s\" has %d dims, 1 to %d",
            name, ndim, TL_SECTION_DIMS);
    section_header header = {.dtype = (uint32_t)dtype, .ndim = (uint32_t)ndim};
    for (int i = 0; i < TL_SECTION_DIMS; i++) header.dim[i] = i < ndim ? dim[i] : 1;
    TL_NEED(record_data_bytes(&header.bytes, dtype, header.ndim, dim) && header.bytes <= SIZE_MAX,
            TL_EINVAL, "section \"%s\": a dim is 0, or the product of the dims overflows", name);
    TL_TRY(add_name(w, name));
    /* From here on a failure leaves half a section, and put_bytes closes the writer. */
    memcpy(header.name, w->name[w->sections], sizeof header.name);
    header.crc = tl_crc32(0, &header, SECTION_CRC_SPAN);
    header.crc = tl_crc32(header.crc, data, (size_t)header.bytes);

    static const char zeros[8];
    TL_TRY(put_bytes(w, &header, sizeof header));
    TL_TRY(put_bytes(w, data, (size_t)header.bytes));
    TL_TRY(put_bytes(w, zeros, record_padding(header.bytes)));
    w->sections++;
    return TL_OK;
}

/* A rename survives a power cut only when the folder itself is on disk, too. */
static tl_status sync_folder(tl_writer *w) {
    const char *slash = strrchr(w->path, '/');
    char *folder = slash == NULL      ? strdup(".")
                   : slash == w->path ? strdup("/")
                                      : strndup(w->path, (size_t)(slash - w->path));
    TL_NEED(folder != NULL, TL_ENOMEM, "out of host memory for writing %s", w->path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: this kind of file system has no such thing as syncing a folder. */
    tl_status status = TL_OK;
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        status = TL_FAIL(TL_EIO, "cannot sync folder %s: %s", folder, strerror(errno));
    if (fd >= 0) close(fd);
    free(folder);
    return status;
}

/* The order matters: data on disk, then the name, then the folder. A power cut between any two
 * leaves PATH as the old file or as the new one. A full disk may show as late as in fsync or
 * fclose. */
tl_status tl_writer_commit(tl_writer **writer) {
    tl_writer *w = *writer;
    TL_NEED(!w->closed, TL_EINVAL, "%s takes no more after a failed write: discard it", w->part);
    if (fseek(w->file, 0, SEEK_SET) != 0) return write_failed(w, "write");
    TL_TRY(put_header(w));
    if (fflush(w->file) != 0) return write_failed(w, "write");
    if (fsync(fileno(w->file)) != 0) return write_failed(w, "sync");
    FILE *file = w->file;
    w->file = NULL; /* fclose releases it even when it fails */
    if (fclose(file) != 0) return write_failed(w, "close");
    if (rename(w->part, w->path) != 0) {
        w->closed = true;
        return TL_FAIL(TL_EIO, "cannot rename %s to %s: %s", w->part, w->path, strerror(errno));
    }
    w->closed = true; /* nothing more can be added or renamed, whatever syncing says */
    TL_TRY(sync_folder(w));
    writer_free(w);
    *writer = NULL;
    return TL_OK;
}

void tl_writer_discard(tl_writer **writer) {
    tl_writer *w = *writer;
    if (w == NULL) return;
    *writer = NULL;
    if (w->file != NULL) fclose(w->file);
    unlink(w->part); /* best effort: there is nobody left to tell */
    writer_free(w);
}
