/* temp_folder.h: a folder of its own for each test that needs files, removed afterwards. Include
 * first: it asks for nftw. */
#ifndef TEMP_FOLDER_H
#define TEMP_FOLDER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char temp_root[256];

/* For .init and .fini of a suite. */
static void temp_make(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(temp_root, sizeof temp_root, "%s/gradlab-test-XXXXXX", parent ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(temp_root), "no temporary folder %s", temp_root);
}

static int temp_remove_entry(const char *path, const struct stat *about, int kind,
                             struct FTW *walk) {
    (void)about, (void)kind, (void)walk;
    return remove(path);
}

static void temp_remove(void) { nftw(temp_root, temp_remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

/* The path of a file in the folder, valid until the next call. */
static char *temp_path(const char *file) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", temp_root, file);
    return path;
}

#endif
