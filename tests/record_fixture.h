/* record_fixture.h: the temporary folder and the small file that the suites about record files
 * share. */
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

#include "tl/record.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/gradlab-record-XXXXXX";
static char path[64], part[64]; /* the one file of each test: every test is a process of its own */

static inline void setup(void) {
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(part, sizeof part, "%s/file.part", folder);
}

static inline void teardown(void) {
    unlink(path);
    unlink(part);
    cr_expect_eq(rmdir(folder), 0, "a test left files behind in %s", folder);
}

typedef struct bytes {
    size_t size;
    unsigned char *at;
} bytes;

static inline bytes load(void) {
    struct stat about;
    cr_assert_eq(stat(path, &about), 0);
    bytes b = {(size_t)about.st_size, malloc((size_t)about.st_size + 1)};
    FILE *f = fopen(path, "rb");
    cr_assert_eq(fread(b.at, 1, b.size, f), b.size);
    fclose(f);
    return b;
}

static inline void store(const void *at, size_t size) {
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(at, 1, size, f), size);
    cr_assert_eq(fclose(f), 0);
}

/* Where things lie in the file, as the format states it. */
enum { HEADER = 16, SECTION = 104, DTYPE = 48, NDIM = 52, DIM = 56, BYTES = 88, CRC = 96 };

/* Two sections: "ab" of 5 bytes, so 3 of padding, and "n" u32[3,1], so 4. */
static const uint32_t small_n[3] = {7, 9, 11};
static inline void write_small(void) {
    tl_writer *w;
    cr_assert_eq(tl_writer_open(&w, path), TL_OK, "%s", tl_error());
    cr_assert_eq(tl_writer_add(w, "ab", TL_U8, 1, (uint64_t[]){5}, "hello"), TL_OK);
    cr_assert_eq(tl_writer_add(w, "n", TL_U32, 2, (uint64_t[]){3, 1}, small_n), TL_OK);
    cr_assert_eq(tl_writer_commit(&w), TL_OK, "%s", tl_error());
    cr_assert_null(w);
}
enum { SMALL_SECOND = HEADER + SECTION + 8, SMALL_SIZE = SMALL_SECOND + SECTION + 16 };

#endif
