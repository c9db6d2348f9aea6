/* mnist.c: MNIST in its idx form: a header of big-endian 32-bit numbers (a magic number, then the
 * sizes), then bytes. LeCun, Cortes, Burges, "The MNIST database of handwritten digits" (1998). */
#include "dataset_internal.h"

enum { SIDE = 28, CLASSES = 10, TRAIN_COUNT = 60000, TEST_COUNT = 10000 };
enum { MAGIC_IMAGES = 0x803, MAGIC_LABELS = 0x801 }; /* bytes, in 3 dimensions; in 1 dimension */

/* Compares `count` header numbers with those that the official file has: sizes are checked, never
 * believed. */
static tl_status read_header(tl_data_file *file, const uint32_t expected[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t b[4];
        TL_TRY(tl_data_read(file, b, sizeof b));
        uint32_t got = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        TL_NEED(got == expected[i], TL_EFORMAT,
                "%s: number %zu of the header is 0x%x, expected 0x%x (%s); %s", file->path, i, got,
                expected[i], i == 0 ? "the kind of file" : "a size", file->fix);
    }
    return TL_OK;
}

/* The size of the file was checked when it was opened, so header and images fill it exactly. */
static tl_status read_images(tl_data_file *file, tl_split *split) {
    const uint32_t header[4] = {MAGIC_IMAGES, (uint32_t)split->count, SIDE, SIDE};
    TL_TRY(read_header(file, header, 4));
    return tl_data_read(file, split->images, split->count * SIDE * SIDE);
}

static tl_status read_labels(tl_data_file *file, tl_split *split) {
    const uint32_t header[2] = {MAGIC_LABELS, (uint32_t)split->count};
    TL_TRY(read_header(file, header, 2));
    TL_TRY(tl_data_read(file, split->labels, split->count));
    for (size_t i = 0; i < split->count; i++)
        TL_NEED(split->labels[i] < CLASSES, TL_EFORMAT,
                "%s: record %zu (counted from 0) has label %d, expected 0..9; %s", file->path, i,
                split->labels[i], file->fix);
    return TL_OK;
}

/* Images and labels of one half of the set, from their two files: 16 and 8 bytes of header. */
static tl_status load_split(tl_split *split, size_t count, const tl_data_place *place,
                            const char *images, const char *labels) {
    tl_data_file file;
    TL_TRY(tl_split_new(split, count, SIDE * SIDE));
    TL_TRY(tl_data_open(&file, place, images, 16 + count * SIDE * SIDE));
    tl_status status = read_images(&file, split);
    tl_data_close(&file);
    if (status != TL_OK) return status;
    TL_TRY(tl_data_open(&file, place, labels, 8 + count));
    status = read_labels(&file, split);
    tl_data_close(&file);
    return status;
}

tl_status tl_mnist_load(tl_dataset *d, const tl_data_place *place) {
    TL_TRY(load_split(&d->train, TRAIN_COUNT, place, "train-images-idx3-ubyte",
                      "train-labels-idx1-ubyte"));
    return load_split(&d->test, TEST_COUNT, place, "t10k-images-idx3-ubyte",
                      "t10k-labels-idx1-ubyte");
}
