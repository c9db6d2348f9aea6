/* data_test.c: claims about the loaders of CIFAR-10 and MNIST (tl/data.h). Each test makes its own
 * folder with files of the official size; most are sparse, for a loader must find what is wrong
 * with a file of 30 MB whose other bytes are all zero. */
#include "temp_folder.h"
#include "autograder/claim/claim.h"

#include "tl/backend.h"
#include "tl/data.h"
#include "tl/device.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { RECORDS = 10000, RECORD_BYTES = 3073, BATCH_BYTES = RECORDS * RECORD_BYTES };

static const char *const cifar10_files[6] = {"data_batch_1.bin", "data_batch_2.bin",
                                             "data_batch_3.bin", "data_batch_4.bin",
                                             "data_batch_5.bin", "test_batch.bin"};
/* A file of `bytes` zeros, or an older file cut or lengthened to that. */
static void size_file(const char *file, off_t bytes) {
    int f = open(temp_path(file), O_WRONLY | O_CREAT, 0644);
    cr_assert(f >= 0 && ftruncate(f, bytes) == 0 && close(f) == 0, "cannot make %s", file);
}

static void poke(const char *file, off_t offset, const void *bytes, size_t count) {
    int f = open(temp_path(file), O_WRONLY);
    cr_assert(f >= 0 && pwrite(f, bytes, count, offset) == (ssize_t)count && close(f) == 0,
              "cannot write to %s", file);
}

/* Six files of the right size whose labels are all 0: sound but for the balance, judged last. */
static void make_empty_cifar10(void) {
    mkdir(temp_path("cifar10"), 0755);
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "cifar10/%s", cifar10_files[i]);
        size_file(name, BATCH_BYTES);
    }
}

static void make_empty_mnist(void) {
    mkdir(temp_path("mnist"), 0755);
    size_file("mnist/train-images-idx3-ubyte", 47040016);
    size_file("mnist/train-labels-idx1-ubyte", 60008);
    size_file("mnist/t10k-images-idx3-ubyte", 7840016);
    size_file("mnist/t10k-labels-idx1-ubyte", 10008);
    poke("mnist/train-images-idx3-ubyte", 0, "\0\0\10\3\0\0\352\140\0\0\0\34\0\0\0\34", 16);
    poke("mnist/train-labels-idx1-ubyte", 0, "\0\0\10\1\0\0\352\140", 8);
    poke("mnist/t10k-images-idx3-ubyte", 0, "\0\0\10\3\0\0\47\20\0\0\0\34\0\0\0\34", 16);
    poke("mnist/t10k-labels-idx1-ubyte", 0, "\0\0\10\1\0\0\47\20", 8);
}

/* Byte k of image i in the sets that are filled: differs between images, planes and neighbours. */
static uint8_t pixel(size_t i, size_t k) { return (uint8_t)((i * 131 + k * 7 + k / 256) % 251); }

static void fill_cifar10(void) {
    uint8_t *batch = malloc(BATCH_BYTES);
    make_empty_cifar10();
    for (size_t file = 0; file < 6; file++) {
        for (size_t r = 0; r < RECORDS; r++) {
            uint8_t *record = batch + r * RECORD_BYTES;
            record[0] = (uint8_t)((r + file) % 10);
            for (size_t k = 0; k < 3072; k++) record[1 + k] = pixel(file * RECORDS + r, k);
        }
        char name[64];
        snprintf(name, sizeof name, "cifar10/%s", cifar10_files[file]);
        poke(name, 0, batch, BATCH_BYTES);
    }
    free(batch);
}

/* Loading must fail with `status` and one line that holds all of the texts. */
static void expect_failure(const char *set, size_t limit, tl_status status, const char *where,
                           const char *what, const char *fix) {
    tl_dataset *d = (tl_dataset *)temp_root; /* anything but NULL */
    tl_status got = tl_dataset_load(&d, set, temp_root, limit);
    cr_expect_eq(got, status, "got %s, expected %s: %s", tl_status_name(got),
                 tl_status_name(status), tl_error());
    cr_expect_null(d);
    const char *line = tl_error(), *texts[3] = {where, what, fix};
    for (int i = 0; i < 3; i++)
        cr_expect(strstr(line, texts[i]), "\"%s\" is not in: %s", texts[i], line);
    cr_expect_null(strchr(line, '\n'), "more than one line: %s", line);
}

TestSuite(data, .init = temp_make, .fini = temp_remove);

Test(data, cifar10_records_land_in_their_places) {
    fill_cifar10();
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, "cifar10", temp_root, 0), TL_OK, "%s", tl_error());
    cr_expect_str_eq(d->name, "cifar10");
    cr_expect(d->c == 3 && d->h == 32 && d->w == 32 && d->classes == 10);
    cr_assert(d->train.count == 50000 && d->test.count == 10000);
    static const size_t probes[] = {0, 1, 99, 100, 9999, 10000, 25123, 49999, 50000, 59999};
    for (size_t p = 0; p < sizeof probes / sizeof probes[0]; p++) {
        size_t i = probes[p], at = i < 50000 ? i : i - 50000;
        const tl_split *split = i < 50000 ? &d->train : &d->test;
        cr_expect_eq(split->labels[at], (i % RECORDS + i / RECORDS) % 10, "label of image %zu", i);
        for (size_t k = 0; k < 3072; k++)
            cr_assert_eq(split->images[at * 3072 + k], pixel(i, k), "image %zu, byte %zu", i, k);
    }
    tl_dataset_free(d);
}

Test(data, cifar10_limit_keeps_the_first_images) {
    fill_cifar10();
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, "cifar10", temp_root, 70), TL_OK, "%s", tl_error());
    cr_assert(d->train.count == 70 && d->test.count == 70);
    cr_expect_eq(d->train.images[69 * 3072 + 5], pixel(69, 5));
    cr_expect_eq(d->test.images[69 * 3072 + 5], pixel(50069, 5));
    for (int ch = 0; ch < 3; ch++) { /* of the 70 that are kept, by the definition, in double */
        double mean = 0, variance = 0, n = 70 * 1024;
        for (size_t i = 0; i < 70; i++)
            for (size_t k = 0; k < 1024; k++) mean += pixel(i, (size_t)ch * 1024 + k) / 255.0 / n;
        for (size_t i = 0; i < 70; i++)
            for (size_t k = 0; k < 1024; k++)
                variance += pow(pixel(i, (size_t)ch * 1024 + k) / 255.0 - mean, 2) / n;
        cr_expect(fabs(d->mean[ch] - mean) <= 1e-11, "mean %.15g, naive %.15g", d->mean[ch], mean);
        cr_expect(fabs(d->std[ch] - sqrt(variance)) <= 1e-11, "std %.15g, naive %.15g", d->std[ch],
                  sqrt(variance));
    }
    tl_dataset_free(d);
    cr_assert_eq(tl_dataset_load(&d, "cifar10", temp_root, 20000), TL_OK, "%s", tl_error());
    cr_expect(d->train.count == 20000 && d->test.count == 10000, "all test images are kept");
    tl_dataset_free(d);
}

Test(data, limit_beyond_the_set_is_refused) {
    expect_failure("cifar10", 50001, TL_EINVAL, "50001", "50000", "cifar10");
    expect_failure("mnist", 60001, TL_EINVAL, "60001", "60000", "mnist");
}

Test(data, unknown_set_lists_those_that_exist) {
    expect_failure("cifar100", 0, TL_EINVAL, "\"cifar100\"", "cifar10, mnist or shapes10", "");
    expect_failure("", 0, TL_EINVAL, "\"\"", "cifar10, mnist or shapes10", "");
    cr_expect_eq(tl_dataset_exists("cifar100", temp_root), 0);
}

Test(data, each_missing_file_is_named) {
    make_empty_cifar10();
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "cifar10/%s", cifar10_files[i]);
        cr_expect_eq(tl_dataset_exists("cifar10", temp_root), 1);
        unlink(temp_path(name));
        cr_expect_eq(tl_dataset_exists("cifar10", temp_root), 0, "%s is missing", name);
        expect_failure("cifar10", 0, TL_EIO, temp_path(name), "No such file", "GRADLAB_DATA");
        size_file(name, BATCH_BYTES);
    }
    expect_failure("mnist", 0, TL_EIO, temp_path("mnist/train-images-idx3-ubyte"), "No such file",
                   "GRADLAB_DATA");
}

Test(data, each_short_or_long_file_is_named_with_its_sizes) {
    make_empty_cifar10();
    for (int i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "cifar10/%s", cifar10_files[i]);
        size_file(name, BATCH_BYTES - 1);
        expect_failure("cifar10", 0, TL_EFORMAT, temp_path(name),
                       "30729999 bytes, expected 30730000", "GRADLAB_DATA");
        size_file(name, BATCH_BYTES + 1);
        expect_failure("cifar10", 0, TL_EFORMAT, temp_path(name),
                       "30730001 bytes, expected 30730000", "GRADLAB_DATA");
        size_file(name, BATCH_BYTES);
    }
    size_file("cifar10/data_batch_2.bin", 0);
    expect_failure("cifar10", 5, TL_EFORMAT, "data_batch_2.bin", "0 bytes", "cut short");
}

Test(data, label_out_of_range_names_its_record) {
    make_empty_cifar10();
    poke("cifar10/test_batch.bin", 9999 * RECORD_BYTES, "\12", 1);
    expect_failure("cifar10", 0, TL_EFORMAT, temp_path("cifar10/test_batch.bin"), "record 9999",
                   "label 10, expected 0..9");
    poke("cifar10/data_batch_3.bin", 4321 * RECORD_BYTES, "\377", 1);
    expect_failure("cifar10", 10, TL_EFORMAT, temp_path("cifar10/data_batch_3.bin"), "record 4321",
                   "label 255");
}

Test(data, unbalanced_labels_are_refused) {
    make_empty_cifar10();
    expect_failure("cifar10", 0, TL_EFORMAT, "label 0 occurs 50000 times", "expected 5000",
                   "GRADLAB_DATA");
}

Test(data, folder_pipe_and_locked_file_are_refused, .timeout = CLAIM_LIMIT_S) {
    make_empty_cifar10();
    char *path = temp_path("cifar10/data_batch_1.bin");
    cr_assert(unlink(path) == 0 && mkdir(path, 0755) == 0);
    cr_expect_eq(tl_dataset_exists("cifar10", temp_root), 0);
    expect_failure("cifar10", 0, TL_EIO, "data_batch_1.bin is a folder", "not a file",
                   "GRADLAB_DATA");
    path = temp_path("cifar10/data_batch_1.bin");
    cr_assert(rmdir(path) == 0 && mkfifo(path, 0644) == 0);
    expect_failure("cifar10", 0, TL_EIO, "data_batch_1.bin is a device or pipe", "", "");
    path = temp_path("cifar10/data_batch_1.bin");
    cr_assert(unlink(path) == 0);
    size_file("cifar10/data_batch_1.bin", BATCH_BYTES);
    cr_assert(chmod(temp_path("cifar10/data_batch_1.bin"), 0) == 0 && chmod(temp_root, 0755) == 0);
    int is_root = geteuid() == 0; /* root may read everything, so be somebody else for a moment */
    if (is_root) cr_assert_eq(seteuid(65534), 0);
    expect_failure("cifar10", 0, TL_EIO, temp_path("cifar10/data_batch_1.bin"), "Permission denied",
                   "GRADLAB_DATA");
    if (is_root) cr_assert_eq(seteuid(0), 0);
}

Test(data, mnist_records_land_in_their_places) {
    make_empty_mnist();
    uint8_t image[784];
    for (size_t k = 0; k < 784; k++) image[k] = pixel(3, k);
    poke("mnist/train-images-idx3-ubyte", 16 + 59999 * 784, image, 784);
    poke("mnist/t10k-images-idx3-ubyte", 16 + 42 * 784, image, 784);
    poke("mnist/train-labels-idx1-ubyte", 8 + 59999, "\11", 1);
    poke("mnist/t10k-labels-idx1-ubyte", 8 + 42, "\7", 1);
    tl_dataset *d;
    cr_expect_eq(tl_dataset_exists("mnist", temp_root), 1);
    cr_assert_eq(tl_dataset_load(&d, "mnist", temp_root, 0), TL_OK, "%s", tl_error());
    cr_expect(d->c == 1 && d->h == 28 && d->w == 28 && d->classes == 10);
    cr_assert(d->train.count == 60000 && d->test.count == 10000);
    cr_expect(memcmp(d->train.images + 59999 * 784, image, 784) == 0);
    cr_expect(memcmp(d->test.images + 42 * 784, image, 784) == 0);
    cr_expect(d->train.labels[59999] == 9 && d->test.labels[42] == 7 && d->test.labels[43] == 0);
    tl_dataset_free(d);
    cr_assert_eq(tl_dataset_load(&d, "mnist", temp_root, 10), TL_OK, "%s", tl_error());
    cr_expect(d->mean[0] == 0 && d->std[0] == 1, "all black: mean %g, std %g", d->mean[0],
              d->std[0]);
    tl_dataset_free(d);
}

Test(data, mnist_headers_and_labels_are_checked) {
    static const struct {
        const char *file;
        off_t offset;
        const char *byte, *what;
    } wrong[] = {
        {"train-images-idx3-ubyte", 3, "\1", "0x801, expected 0x803"},
        {"train-images-idx3-ubyte", 4, "\177", "0x7f00ea60, expected 0xea60"},
        {"train-images-idx3-ubyte", 11, "\40", "number 2 of the header is 0x20, expected 0x1c"},
        {"t10k-images-idx3-ubyte", 15, "\33", "number 3 of the header is 0x1b"},
        {"train-labels-idx1-ubyte", 0, "\1", "0x1000801, expected 0x801"},
        {"t10k-labels-idx1-ubyte", 7, "\21", "0x2711, expected 0x2710"},
        {"train-labels-idx1-ubyte", 8 + 59999, "\12", "record 59999 (counted from 0) has label 10"},
        {"t10k-labels-idx1-ubyte", 8, "\310", "record 0 (counted from 0) has label 200"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "mnist/%s", wrong[i].file);
        make_empty_mnist();
        poke(name, wrong[i].offset, wrong[i].byte, 1);
        expect_failure("mnist", 0, TL_EFORMAT, temp_path(name), wrong[i].what, "GRADLAB_DATA");
        unlink(temp_path(name));
    }
    make_empty_mnist();
    size_file("mnist/t10k-labels-idx1-ubyte", 10007);
    expect_failure("mnist", 0, TL_EFORMAT, "t10k-labels-idx1-ubyte", "10007 bytes, expected 10008",
                   "GRADLAB_DATA");
}

/* The device holds the bytes and a table of standardised values, rounded once from double. */
Test(data, upload_carries_bytes_and_table_and_leaks_nothing) {
    make_empty_mnist();
    poke("mnist/train-images-idx3-ubyte", 16, "\377\200\1", 3);
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, "mnist", temp_root, 4), TL_OK, "%s", tl_error());
    tl_ctx *ctx;
    cr_assert_eq(tl_device_open(&ctx, "cpu", "none", 1), TL_OK, "%s", tl_error());
    size_t before = tl_alloc_read_stats(ctx->alloc).live_blocks;
    tl_device_split on_device;
    cr_assert_eq(tl_split_upload(ctx, &on_device, d, &d->train), TL_OK, "%s", tl_error());
    cr_expect(on_device.count == 4 && on_device.c == 1 && on_device.h == 28 && on_device.w == 28);
    cr_expect_eq(on_device.classes, 10);
    uint8_t images[4 * 784], labels[4];
    tl_real lut[256];
    cr_assert_eq(ctx->ops->copy_out(ctx, images, on_device.images, sizeof images), TL_OK);
    cr_assert_eq(ctx->ops->copy_out(ctx, labels, on_device.labels, sizeof labels), TL_OK);
    cr_assert_eq(ctx->ops->copy_out(ctx, lut, on_device.lut, sizeof lut), TL_OK);
    cr_expect(memcmp(images, d->train.images, sizeof images) == 0);
    cr_expect(memcmp(labels, d->train.labels, sizeof labels) == 0);
    for (int byte = 0; byte < 256; byte++)
        cr_expect_eq(lut[byte], (tl_real)((byte / 255.0 - d->mean[0]) / d->std[0]));
    tl_split_release(ctx, &on_device);
    cr_expect_null(on_device.images);
    cr_expect_eq(tl_alloc_read_stats(ctx->alloc).live_blocks, before);
    tl_device_close(ctx);
    tl_dataset_free(d);
}

/* The official files, where they are there: their published channel means and deviations. */
static void check_official(const char *set, int channels, const double *mean, const double *std) {
    const char *data = getenv("GRADLAB_DATA");
    if (!data || !tl_dataset_exists(set, data)) {
        fprintf(stderr, "data: no official %s under %s, so it was not tested: set GRADLAB_DATA\n",
                set, data ? data : "(GRADLAB_DATA is not set)");
        return;
    }
    tl_dataset *d;
    cr_assert_eq(tl_dataset_load(&d, set, data, 0), TL_OK, "%s", tl_error());
    for (int ch = 0; ch < channels; ch++) {
        cr_expect(fabs(d->mean[ch] - mean[ch]) < 5e-5, "%s mean %g", set, d->mean[ch]);
        cr_expect(fabs(d->std[ch] - std[ch]) < 1e-4, "%s deviation %g", set, d->std[ch]);
    }
    tl_dataset_free(d);
}

Test(data, official_cifar10_has_its_published_statistics) {
    const double mean[3] = {0.4914, 0.4822, 0.4465}, std[3] = {0.2470, 0.2435, 0.2616};
    check_official("cifar10", 3, mean, std);
}

Test(data, official_mnist_has_its_published_statistics) {
    const double mean[1] = {0.1307}, std[1] = {0.3081};
    check_official("mnist", 1, mean, std);
}
