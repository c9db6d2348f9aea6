/* dataset_internal.h: what the loaders of the data sets share. Every message names the file first,
 * then what is wrong with it, then `fix`: what to do about it. */
#ifndef TL_DATASET_INTERNAL_H
#define TL_DATASET_INTERNAL_H

#include "tl/data.h"

enum { TL_DATA_PATH = 4096 };

/* A data set folder and the sentence that tells the user how to get sound files into it. */
typedef struct tl_data_place {
    char folder[TL_DATA_PATH];
    const char *fix;
} tl_data_place;

/* path = folder/file; TL_EINVAL if that is longer than a path may be. */
tl_status tl_data_path(char path[TL_DATA_PATH], const char *folder, const char *file);

/* A file that is being read front to back. */
typedef struct tl_data_file {
    int descriptor;
    char path[TL_DATA_PATH];
    const char *fix;
} tl_data_file;

/* Opens place->folder/name and checks that it is a regular file of exactly `bytes` bytes. On
 * failure nothing stays open. */
tl_status tl_data_open(tl_data_file *file, const tl_data_place *place, const char *name,
                       size_t bytes);
/* Reads exactly `bytes` bytes; fewer (the file was cut while we read) is TL_EFORMAT. */
tl_status tl_data_read(tl_data_file *file, void *to, size_t bytes);
void tl_data_close(tl_data_file *file);

/* Memory for `count` images of `image_bytes` bytes and their labels. The numbers are always those
 * of the known set, never of a header. On failure nothing stays allocated. */
tl_status tl_split_new(tl_split *split, size_t count, size_t image_bytes);
void tl_split_clear(tl_split *split);

/* Fill d->train and d->test with the whole set; c, h, w and classes are already there. What was
 * allocated before a failure stays in d for tl_dataset_free. */
tl_status tl_cifar10_load(tl_dataset *d, const tl_data_place *place);
tl_status tl_mnist_load(tl_dataset *d, const tl_data_place *place);
tl_status tl_shapes10_load(tl_dataset *d, const tl_data_place *place);

#endif
