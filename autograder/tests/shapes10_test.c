/* shapes10_test.c: claims about the drawn data set shapes10 (tl/data.h): the same bytes everywhere,
 * sound files or none. */
#define _GNU_SOURCE /* nftw */
#include "tl/data.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IMAGE_BYTES = 3072, RECORD_BYTES = 1 + IMAGE_BYTES };
#define FIRST_TEST ((uint64_t)1 << 32)

static char root[256];

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)about, (void)kind, (void)walk;
    return remove(path);
}

static void make_root(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/gradlab-shapes10-XXXXXX", parent ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(root), "no temporary folder %s", root);
}

static void remove_root(void) { nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static char *path_of(const char *file) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, file);
    return path;
}

/* CRC-32 with zlib's polynomial, bit by bit, continued from `crc` (0 at first). */
static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t count) {
    crc = ~crc;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static uint32_t crc_of_images(uint64_t seed, uint64_t first, int count) {
    uint32_t crc = 0;
    for (int i = 0; i < count; i++) {
        uint8_t record[RECORD_BYTES];
        tl_shapes10_draw(record + 1, record, seed, first + (uint64_t)i);
        crc = crc32_of(crc, record, sizeof record);
    }
    return crc;
}

TestSuite(shapes10, .init = make_root, .fini = remove_root);

/* If this fails on one machine only, something there is not whole-number arithmetic. If it fails
 * after the drawing was changed on purpose, TL_SHAPES10_VERSION must go up with these two numbers.
 */
Test(shapes10, first_images_have_their_known_bytes) {
    cr_expect_eq(crc_of_images(1, 0, 100), 0x0u, "training images: CRC 0x%08x",
                 crc_of_images(1, 0, 100));
    cr_expect_eq(crc_of_images(1, FIRST_TEST, 100), 0x0u, "test images: CRC 0x%08x",
                 crc_of_images(1, FIRST_TEST, 100));
}

Test(shapes10, image_depends_on_seed_and_number_alone) {
    uint8_t image[IMAGE_BYTES], again[IMAGE_BYTES], label, other;
    tl_shapes10_draw(image, &label, 1, 77);
    tl_shapes10_draw(again, &other, 1, 78);
    cr_expect_neq(memcmp(image, again, sizeof image), 0, "another number, the same image");
    tl_shapes10_draw(again, &other, 2, 77);
    cr_expect_neq(memcmp(image, again, sizeof image), 0, "another seed, the same image");
    tl_shapes10_draw(again, &other, 1, FIRST_TEST + 77);
    cr_expect_neq(memcmp(image, again, sizeof image), 0, "a test image equals a training image");
    tl_shapes10_draw(again, &other, 1, 77);
    cr_expect(memcmp(image, again, sizeof image) == 0 && label == other, "drawn twice, differs");
}

/* Each ten thousand holds each label a thousand times, in an order that is neither sorted nor that
 * of the next ten thousand. And nothing but the outline may give the label away: the colour of a
 * corner, which the shape does not reach, averages the same for all classes (5 standard errors). */
Test(shapes10, labels_are_balanced_and_independent_of_colour) {
    enum { N = 10000 };
    uint8_t image[IMAGE_BYTES], label, next;
    int count[10] = {0}, neighbours = 0, same = 0, last = -1;
    double sum[10] = {0}, total = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        tl_shapes10_draw(image, &next, 1, N + i);
        tl_shapes10_draw(image, &label, 1, i);
        cr_assert_lt(label, 10);
        count[label]++;
        neighbours += label == last;
        same += label == next;
        last = label;
        sum[label] += image[0];
        total += image[0];
        squares += (double)image[0] * image[0];
    }
    double mean = total / N, deviation = sqrt(squares / N - mean * mean);
    for (int k = 0; k < 10; k++) {
        cr_expect_eq(count[k], N / 10, "label %d occurs %d times", k, count[k]);
        cr_expect(fabs(sum[k] / (N / 10) - mean) <= 5 * deviation / sqrt(N / 10),
                  "label %d: corner's mean %.2f, that of all %.2f", k, sum[k] / (N / 10), mean);
    }
    cr_expect(abs(neighbours - N / 10) < 150, "%d equal neighbours", neighbours);
    cr_expect(abs(same - N / 10) < 150, "%d labels equal those of the next batch", same);
}

static uint32_t crc_of_file(const char *file) {
    uint8_t *bytes = malloc(30730000);
    FILE *f = fopen(path_of(file), "rb");
    cr_assert(f && bytes, "cannot open %s", file);
    size_t got = fread(bytes, 1, 30730000, f);
    fclose(f);
    uint32_t crc = crc32_of(0, bytes, got < 3000000 ? got : 3000000);
    free(bytes);
    return crc;
}

static void expect_load_fails(tl_status status, const char *what) {
    tl_dataset *d;
    cr_expect_eq(tl_dataset_load(&d, "shapes10", root, 0), status, "%s", tl_error());
    cr_expect(strstr(tl_error(), what), "\"%s\" is not in: %s", what, tl_error());
    cr_expect(strstr(tl_error(), "make data DATASET=shapes10"), "no way to mend in: %s",
              tl_error());
}

/* One long test, for drawing the set takes seconds. */
Test(shapes10, written_set_loads_and_is_guarded_by_its_version) {
    omp_set_num_threads(1);
    cr_expect_eq(tl_dataset_exists("shapes10", root), 0);
    cr_assert_eq(tl_shapes10_write(root, 1), TL_OK, "%s", tl_error());
    cr_expect_eq(tl_dataset_exists("shapes10", root), 1);
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, "shapes10", root, 0), TL_OK, "%s", tl_error());
    static const uint64_t probes[] = {0, 9999, 10000, 31234, 49999, FIRST_TEST, FIRST_TEST + 9999};
    for (size_t p = 0; p < sizeof probes / sizeof probes[0]; p++) {
        uint8_t image[IMAGE_BYTES], label;
        tl_shapes10_draw(image, &label, 1, probes[p]);
        const tl_split *split = probes[p] < FIRST_TEST ? &d->train : &d->test;
        size_t at = (size_t)(probes[p] % FIRST_TEST);
        cr_expect_eq(split->labels[at], label, "label of image %zu", at);
        cr_expect(memcmp(split->images + at * IMAGE_BYTES, image, sizeof image) == 0);
    }
    tl_dataset_free(d);

    uint32_t one_thread = crc_of_file("shapes10/data_batch_4.bin");
    omp_set_num_threads(4);
    cr_assert_eq(tl_shapes10_write(root, 1), TL_OK, "%s", tl_error());
    cr_expect_eq(crc_of_file("shapes10/data_batch_4.bin"), one_thread, "threads change the bytes");

    /* other versions, and a drawing that was broken off */
    int f = open(path_of("shapes10/VERSION"), O_WRONLY);
    cr_assert(f >= 0 && pwrite(f, "9999", 4, 17) == 4 && close(f) == 0);
    expect_load_fails(TL_EFORMAT, "version 9999");
    cr_assert_eq(unlink(path_of("shapes10/VERSION")), 0);
    cr_expect_eq(tl_dataset_exists("shapes10", root), 0);
    expect_load_fails(TL_EIO, "VERSION: No such file");
}

static int entries, parts;
static int count_entry(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)about, (void)walk;
    entries += kind == FTW_F;
    parts += strstr(path, ".part") != NULL;
    return 0;
}

/* A limit on file sizes fails in the middle of the first batch, as a full disk does. */
Test(shapes10, failed_write_leaves_no_half_file) {
    struct rlimit limit = {5000000, 5000000};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(tl_shapes10_write(root, 1), TL_EIO);
    cr_expect(strstr(tl_error(), path_of("shapes10/data_batch_1.bin")), "%s", tl_error());
    cr_expect(strstr(tl_error(), "File too large"), "%s", tl_error());
    cr_expect_eq(tl_dataset_exists("shapes10", root), 0);
    nftw(root, count_entry, 16, FTW_PHYS);
    cr_expect_eq(entries, 1, "%d files are there, expected the class names alone", entries);
    cr_expect_eq(parts, 0, "%d .part files are left", parts);
}

Test(shapes10, folder_that_cannot_be_written_is_named) {
    int f = open(path_of("file"), O_WRONLY | O_CREAT, 0644);
    cr_assert(f >= 0 && close(f) == 0);
    cr_expect_eq(tl_shapes10_write(path_of("file"), 1), TL_EIO);
    cr_expect(strstr(tl_error(), path_of("file/shapes10")), "%s", tl_error());
    cr_expect(strstr(tl_error(), "Not a directory"), "%s", tl_error());

    cr_assert_eq(chmod(root, 0555), 0);
    int is_root = geteuid() == 0; /* root may write anywhere, so be somebody else for a moment */
    if (is_root) cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(tl_shapes10_write(path_of("new/folder"), 1), TL_EIO);
    cr_expect(strstr(tl_error(), "Permission denied"), "%s", tl_error());
    cr_expect(strstr(tl_error(), "choose a folder"), "%s", tl_error());
    if (is_root) cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chmod(root, 0755), 0);
    cr_expect_eq(tl_shapes10_write("", 1), TL_EINVAL);
}
