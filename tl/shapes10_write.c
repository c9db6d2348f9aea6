/* shapes10_write.c: writes shapes10 in CIFAR-10's binary form, and loads it.
 *
 * A killed run, a full disk or a second run at the same time never leave a set that loads and is
 * wrong: each file is written under a name of its own and renamed when it is on the disk, and the
 * file VERSION, without which nothing loads, comes last. What a killed run leaves half-written is
 * never read, and the next run that draws removes it. */
#include "dataset_internal.h"
#include "shapes10_internal.h"
#include "tl/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { RECORDS = 10000, RECORD_BYTES = 1 + 3 * TL_SHAPES10_PIXELS, TRAIN_FILES = 5 };

/* VERSION: one line of fixed length, so that it too has one right size. */
enum { VERSION_BYTES = 44, VERSION_SEED = 21 /* bytes before " seed …" */ };

static void version_line(char line[VERSION_BYTES + 1], uint64_t seed) {
    snprintf(line, VERSION_BYTES + 1, "shapes10 version %04d seed %016llx\n", TL_SHAPES10_VERSION,
             (unsigned long long)seed);
}

/* write() may take less than it was given, and a signal may interrupt it. -1: errno says why. */
static int write_all(int file, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t put = write(file, bytes, count);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        bytes += put;
        count -= (size_t)put;
    }
    return 0;
}

/* Writes folder/name in one go. The process number keeps two runs at the same time apart. */
static tl_status write_file(const char *folder, const char *name, const void *bytes, size_t count) {
    char path[TL_DATA_PATH], part_name[64], part[TL_DATA_PATH];
    snprintf(part_name, sizeof part_name, "%s.%ld.part", name, (long)getpid());
    TL_TRY(tl_data_path(path, folder, name));
    TL_TRY(tl_data_path(part, folder, part_name));
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    TL_NEED(file >= 0, TL_EIO, "cannot write %s: %s; choose a folder that you may write to", part,
            strerror(errno));
    /* close() can be the call that reports a full disk or quota, so it counts too. */
    int failed = write_all(file, bytes, count) != 0 || fsync(file) != 0 ? errno : 0;
    if (close(file) != 0 && !failed) failed = errno;
    if (!failed && rename(part, path) != 0) failed = errno;
    if (!failed) return TL_OK;
    unlink(part);
    return TL_FAIL(TL_EIO, "cannot write %s: %s; the whole set needs 184 MB", path,
                   strerror(failed));
}

/* Takes away the VERSION of another set before its files are replaced one by one. That of the same
 * set may stay: its files are replaced by equal ones. */
static tl_status drop_other_version(const char *folder, const char line[VERSION_BYTES + 1]) {
    char path[TL_DATA_PATH], found[VERSION_BYTES + 2] = "";
    TL_TRY(tl_data_path(path, folder, "VERSION"));
    FILE *file = fopen(path, "r");
    if (file) {
        size_t got = fread(found, 1, sizeof found - 1, file);
        found[got] = '\0';
        fclose(file);
        if (strcmp(found, line) == 0) return TL_OK;
    }
    TL_NEED(unlink(path) == 0 || errno == ENOENT, TL_EIO, "cannot remove %s: %s; remove it by hand",
            path, strerror(errno));
    return TL_OK;
}

/* Draws images first .. first + 9,999 as records. Each image depends on its number alone, so any
 * number of threads makes the same bytes. */
static void draw_records(uint8_t *records, uint64_t seed, uint64_t first) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < RECORDS; i++) {
        uint8_t *record = records + (size_t)i * RECORD_BYTES;
        tl_shapes10_draw(record + 1, record, seed, first + (uint64_t)i);
    }
}

/* One batch in memory at a time (31 MB), each file complete before the next begins. */
static tl_status write_set(const char *folder, uint64_t seed, uint8_t *records) {
    char line[VERSION_BYTES + 1], name[32];
    version_line(line, seed);
    TL_TRY(drop_other_version(folder, line));
    for (int batch = 0; batch <= TRAIN_FILES; batch++) {
        int is_test = batch == TRAIN_FILES;
        if (is_test)
            strcpy(name, "test_batch.bin");
        else
            snprintf(name, sizeof name, "data_batch_%d.bin", batch + 1);
        draw_records(records, seed, is_test ? (uint64_t)1 << 32 : (uint64_t)batch * RECORDS);
        TL_TRY(write_file(folder, name, records, (size_t)RECORDS * RECORD_BYTES));
    }
    return write_file(folder, "VERSION", line, VERSION_BYTES);
}

/* The class names, a line each, as CIFAR-10 has them beside its batches. */
static tl_status write_names(const char *folder) {
    char names[256] = "";
    for (int label = 0; label < TL_SHAPES10_CLASSES; label++) {
        strcat(names, tl_shapes10_outline(label).name);
        strcat(names, "\n");
    }
    return write_file(folder, "batches.meta.txt", names, strlen(names));
}

/* Removes what killed runs have left, half-written files called NAME.PROCESS.part. All runs that
 * draw into a folder share its lock, so whoever gets it alone has no other run beside it, and those
 * files belong to no run. Whoever does not leaves them to the run that ends last; without locks in
 * a file system they stay. Afterwards the lock is shared. */
static void sweep(const char *folder, int lock) {
    DIR *list = flock(lock, LOCK_EX | LOCK_NB) == 0 ? opendir(folder) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        if (fnmatch("*.[0-9]*.part", entry->d_name, 0) == 0) unlinkat(lock, entry->d_name, 0);
    if (list) closedir(list);
    flock(lock, LOCK_SH);
}

static tl_status write_all_files(const char *folder, uint64_t seed) {
    TL_TRY(write_names(folder));
    uint8_t *records = malloc((size_t)RECORDS * RECORD_BYTES);
    TL_NEED(records, TL_ENOMEM, "no memory for %d records", RECORDS);
    tl_status status = write_set(folder, seed, records);
    free(records);
    return status;
}

tl_status tl_shapes10_write(const char *root, uint64_t seed) {
    char folder[TL_DATA_PATH];
    TL_NEED(root && root[0], TL_EINVAL, "shapes10 needs the name of a folder to write to");
    TL_TRY(tl_data_path(folder, root, "shapes10"));
    TL_TRY(tl_make_folder(folder, "; choose a folder that you may write to"));
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TL_NEED(lock >= 0, TL_EIO, "cannot open folder %s: %s; choose a folder that you may write to",
            folder, strerror(errno));
    sweep(folder, lock);
    tl_status status = write_all_files(folder, seed);
    sweep(folder, lock);
    close(lock);
    return status;
}

/* Any seed is welcome, but only this version of the drawing: accuracies on two do not compare. */
tl_status tl_shapes10_load(tl_dataset *d, const tl_data_place *place) {
    char expected[VERSION_BYTES + 1], line[VERSION_BYTES + 1] = "";
    tl_data_file file;
    TL_TRY(tl_data_open(&file, place, "VERSION", VERSION_BYTES));
    tl_status status = tl_data_read(&file, line, VERSION_BYTES);
    tl_data_close(&file);
    if (status != TL_OK) return status;
    version_line(expected, 0); /* any seed may have drawn it */
    TL_NEED(memcmp(line, expected, VERSION_SEED) == 0, TL_EFORMAT,
            "%s/VERSION says \"%.*s\", this program draws \"%.*s\"; %s", place->folder,
            VERSION_SEED, line, VERSION_SEED, expected, place->fix);
    return tl_cifar10_load(d, place);
}
