/* cifar10.c: CIFAR-10 in its binary form, which shapes10 shares: five training files and one test
 * file of 10,000 records, each one label byte and 3,072 pixel bytes (planes R, G, B of 32x32).
 * Krizhevsky, "Learning Multiple Layers of Features from Tiny Images" (2009). */
#include "dataset_internal.h"
#include "shapes10_internal.h"

#include <stdlib.h>
#include <string.h>

enum { RECORDS = 10000, IMAGE_BYTES = 3072, RECORD_BYTES = 1 + IMAGE_BYTES, CHUNK = 100 };
enum { TRAIN_FILES = 5, CLASSES = 10 };

/* Reads the 10,000 records of one open file; `buffer` holds CHUNK records. */
static tl_status read_records(tl_data_file *file, uint8_t *buffer, uint8_t *images,
                              uint8_t *labels) {
    for (size_t first = 0; first < RECORDS; first += CHUNK) {
        TL_TRY(tl_data_read(file, buffer, (size_t)CHUNK * RECORD_BYTES));
        for (size_t i = 0; i < CHUNK; i++) {
            const uint8_t *record = buffer + i * RECORD_BYTES;
            TL_NEED(record[0] < CLASSES, TL_EFORMAT,
                    "%s: record %zu (counted from 0) has label %d, expected 0..9; %s", file->path,
                    first + i, record[0], file->fix);
            labels[first + i] = record[0];
            memcpy(images + (first + i) * IMAGE_BYTES, record + 1, IMAGE_BYTES);
        }
    }
    return TL_OK;
}

/* One file into its 10,000 places of a split. The buffer is small beside the file: a record's label
 * byte makes it impossible to read images straight to where they belong. */
static tl_status read_file(const tl_data_place *place, const char *name, uint8_t *images,
                           uint8_t *labels) {
    tl_data_file file;
    uint8_t *buffer = malloc((size_t)CHUNK * RECORD_BYTES);
    TL_NEED(buffer, TL_ENOMEM, "no memory for %d records", CHUNK);
    tl_status status = tl_data_open(&file, place, name, (size_t)RECORDS * RECORD_BYTES);
    if (status == TL_OK) {
        status = read_records(&file, buffer, images, labels);
        tl_data_close(&file);
    }
    free(buffer);
    return status;
}

/* Both sets hold every class equally often. A file that is there twice under two names, or labels
 * that were overwritten, pass every other check; they rarely pass this one. */
static tl_status check_balance(const tl_split *split, const char *what,
                               const tl_data_place *place) {
    size_t count[CLASSES] = {0};
    for (size_t i = 0; i < split->count; i++) count[split->labels[i]]++;
    for (int label = 0; label < CLASSES; label++)
        TL_NEED(count[label] == split->count / CLASSES, TL_EFORMAT,
                "%s: label %d occurs %zu times in the %s files, expected %zu; %s", place->folder,
                label, count[label], what, split->count / CLASSES, place->fix);
    return TL_OK;
}

/* Labels are checked record by record, the balance last, when all files were found sound: its
 * message can name the folder only. */
tl_status tl_cifar10_load(tl_dataset *d, const tl_data_place *place) {
    static const char *const name[TRAIN_FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                                  "data_batch_3.bin", "data_batch_4.bin",
                                                  "data_batch_5.bin"};
    TL_TRY(tl_split_new(&d->train, TRAIN_FILES * RECORDS, IMAGE_BYTES));
    TL_TRY(tl_split_new(&d->test, RECORDS, IMAGE_BYTES));
    for (size_t i = 0; i < TRAIN_FILES; i++)
        TL_TRY(read_file(place, name[i], d->train.images + i * RECORDS * IMAGE_BYTES,
                         d->train.labels + i * RECORDS));
    TL_TRY(read_file(place, "test_batch.bin", d->test.images, d->test.labels));
    TL_TRY(check_balance(&d->train, "training", place));
    return check_balance(&d->test, "test", place);
}
