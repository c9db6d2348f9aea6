/* shapes10_test.c: claims about the drawn data set shapes10 (tl/data.h): the same bytes everywhere,
 * sound files or none. */
#include "temp_folder.h"
#include "autograder/claim/claim.h"

#include "tl/data.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { IMAGE_BYTES = 3072, RECORD_BYTES = 1 + IMAGE_BYTES };
#define FIRST_TEST ((uint64_t)1 << 32)

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

#define GOLDEN_TRAIN 0x5e7df904u
#define GOLDEN_TEST  0x1eaf805cu

TestSuite(shapes10, .init = temp_make, .fini = temp_remove);

/* If this fails on one machine only, something there is not whole-number arithmetic. If it fails
 * because the drawing was changed, TL_SHAPES10_VERSION must go up with these two numbers. */
Test(shapes10, first_images_have_their_known_bytes) {
    uint32_t train = crc_of_images(1, 0, 100), test = crc_of_images(1, FIRST_TEST, 100);
    cr_expect_eq(train, GOLDEN_TRAIN, "training images: CRC 0x%08x", train);
    cr_expect_eq(test, GOLDEN_TEST, "test images: CRC 0x%08x", test);
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

/* CRC of the first 1,000 records: all of them would take half a second. */
static uint32_t crc_of_file(const char *file) {
    enum { BYTES = 1000 * RECORD_BYTES };
    uint8_t *bytes = malloc(BYTES);
    FILE *f = fopen(temp_path(file), "rb");
    cr_assert(f && bytes && fread(bytes, 1, BYTES, f) == BYTES, "cannot read %s", file);
    fclose(f);
    uint32_t crc = crc32_of(0, bytes, BYTES);
    free(bytes);
    return crc;
}

static void expect_load_fails(tl_status status, const char *what) {
    tl_dataset *d;
    cr_expect_eq(tl_dataset_load(&d, "shapes10", temp_root, 0), status, "%s", tl_error());
    cr_expect(strstr(tl_error(), what), "\"%s\" is not in: %s", what, tl_error());
    cr_expect(strstr(tl_error(), "make data DATASET=shapes10"), "no way to fix in: %s", tl_error());
}

/* Makes writing fail in the middle of a batch, as a full disk does; returns what was the limit. */
static struct rlimit forbid_large_files(void) {
    struct rlimit before;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){5000000, before.rlim_max}), 0);
    return before;
}

static int entries, parts;
static int count_entry(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)about, (void)walk;
    entries += kind == FTW_F;
    parts += strstr(path, ".part") != NULL;
    return 0;
}

static int count_parts(void) {
    parts = 0;
    nftw(temp_root, count_entry, 16, FTW_PHYS);
    return parts;
}

/* Another process draws and is killed in the middle of a file, by the kernel as by kill -9. */
static void draw_and_be_killed(void) {
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        forbid_large_files();
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGXFSZ, SIG_DFL);
        tl_shapes10_write(temp_root, 1);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ, "status %d", status);
}

/* One long test, for drawing the set takes seconds. */
Test(shapes10, written_set_loads_and_is_guarded_by_its_version, .timeout = CLAIM_LIMIT_S) {
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 0);
    draw_and_be_killed();
    cr_expect_eq(count_parts(), 1);
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 0);
    expect_load_fails(TL_EIO, "VERSION: No such file");

    /* While another run draws there, its half file is its own: it may be about to rename it. */
    int other = open(temp_path("shapes10"), O_RDONLY | O_DIRECTORY);
    cr_assert(other >= 0 && flock(other, LOCK_SH) == 0);
    struct rlimit before = forbid_large_files();
    cr_expect_eq(tl_shapes10_write(temp_root, 1), TL_EIO);
    cr_expect_eq(count_parts(), 1, "the file of a run that is under way was removed");
    close(other);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);

    cr_assert_eq(tl_shapes10_write(temp_root, 1), TL_OK, "%s", tl_error());
    cr_expect_eq(count_parts(), 0, "the file of a killed run is still there");
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 1);
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, "shapes10", temp_root, 0), TL_OK, "%s", tl_error());
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

    /* written by many threads, drawn here by one */
    cr_expect_eq(crc_of_file("shapes10/data_batch_4.bin"), crc_of_images(1, 30000, 1000));

    /* broken off: over its equal the set stays sound, over another one it must not load */
    forbid_large_files();
    cr_expect_eq(tl_shapes10_write(temp_root, 1), TL_EIO);
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 1);
    cr_expect_eq(tl_shapes10_write(temp_root, 2), TL_EIO);
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 0);
    expect_load_fails(TL_EIO, "VERSION: No such file");

    FILE *f = fopen(temp_path("shapes10/VERSION"), "w");
    cr_assert(f && fputs("shapes10 version 9999 seed 0000000000000001\n", f) > 0 && !fclose(f));
    expect_load_fails(TL_EFORMAT, "version 9999");
}

Test(shapes10, failed_write_leaves_no_half_file) {
    forbid_large_files();
    cr_expect_eq(tl_shapes10_write(temp_root, 1), TL_EIO);
    cr_expect(strstr(tl_error(), temp_path("shapes10/data_batch_1.bin")), "%s", tl_error());
    cr_expect(strstr(tl_error(), "File too large"), "%s", tl_error());
    cr_expect_eq(tl_dataset_exists("shapes10", temp_root), 0);
    nftw(temp_root, count_entry, 16, FTW_PHYS);
    cr_expect_eq(entries, 1, "%d files are there, expected the class names alone", entries);
    cr_expect_eq(parts, 0, "%d .part files are left", parts);
}

Test(shapes10, folder_that_cannot_be_written_is_named) {
    int f = open(temp_path("file"), O_WRONLY | O_CREAT, 0644);
    cr_assert(f >= 0 && close(f) == 0);
    cr_expect_eq(tl_shapes10_write(temp_path("file"), 1), TL_EIO);
    cr_expect(strstr(tl_error(), temp_path("file/shapes10")), "%s", tl_error());
    cr_expect(strstr(tl_error(), "Not a directory"), "%s", tl_error());

    cr_assert_eq(chmod(temp_root, 0555), 0);
    int is_root = geteuid() == 0; /* root may write anywhere, so be somebody else for a moment */
    if (is_root) cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(tl_shapes10_write(temp_path("new/folder"), 1), TL_EIO);
    cr_expect(strstr(tl_error(), "Permission denied"), "%s", tl_error());
    cr_expect(strstr(tl_error(), "choose a folder"), "%s", tl_error());
    if (is_root) cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chmod(temp_root, 0755), 0);
    cr_expect_eq(tl_shapes10_write("", 1), TL_EINVAL);
}
