/* dataset.c: data sets by name: loading, limiting, standardising, and their copy on the device. */
#include "dataset_internal.h"
#include "tl/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FILES = 7 };

/* What is known of a set before a file is opened. All checks go by these numbers. */
typedef struct known_set {
    const char *name;
    int c, h, w, classes;
    size_t train_count;
    tl_status (*load)(tl_dataset *d, const tl_data_place *place);
    const char *fix;
    const char *files[MAX_FILES + 1]; /* NULL after the last */
} known_set;

#define CIFAR10_FILES                                                                              \
    "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",                \
        "data_batch_5.bin", "test_batch.bin"

static const known_set known_sets[] = {
    {"cifar10",
     3,
     32,
     32,
     10,
     50000,
     tl_cifar10_load,
     "run: make data, or set GRADLAB_DATA to the folder that holds cifar10/",
     {CIFAR10_FILES}},
    {"mnist",
     1,
     28,
     28,
     10,
     60000,
     tl_mnist_load,
     "run: make data DATASET=mnist, or set GRADLAB_DATA to the folder that holds mnist/",
     {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
      "t10k-labels-idx1-ubyte"}},
    {"shapes10",
     3,
     32,
     32,
     10,
     50000,
     tl_shapes10_load,
     "run: make data DATASET=shapes10",
     {CIFAR10_FILES, "VERSION"}},
};

static const known_set *find_set(const char *name) {
    for (size_t i = 0; i < sizeof known_sets / sizeof known_sets[0]; i++)
        if (name && strcmp(known_sets[i].name, name) == 0) return &known_sets[i];
    return NULL;
}

/* NULL or an unknown name is no set, so it does not exist; that is an answer and not an error. */
int tl_dataset_exists(const char *name, const char *root) {
    const known_set *set = find_set(name);
    char folder[TL_DATA_PATH], path[TL_DATA_PATH];
    if (!set || !root || tl_data_path(folder, root, name) != TL_OK) return 0;
    for (int i = 0; set->files[i]; i++) {
        struct stat about;
        if (tl_data_path(path, folder, set->files[i]) != TL_OK) return 0;
        if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    }
    return 1;
}

/* Mean and deviation of one channel over all images, of byte/255. The sums are exact whole numbers,
 * and so is n * squares - sum^2 (128 bits: it passes 2^64): a constant channel gives exactly 0. */
static void channel_statistics(double *mean, double *std, const tl_split *split, size_t image_bytes,
                               size_t plane, size_t offset) {
    uint64_t sum = 0, squares = 0;
    for (size_t i = 0; i < split->count; i++) {
        const uint8_t *pixel = split->images + i * image_bytes + offset;
        uint32_t plane_sum = 0, plane_squares = 0; /* 32x32 * 255^2 fits in 32 bits */
        for (size_t k = 0; k < plane; k++) {
            plane_sum += pixel[k];
            plane_squares += (uint32_t)pixel[k] * pixel[k];
        }
        sum += plane_sum;
        squares += plane_squares;
    }
    uint64_t n = split->count * plane;
    unsigned __int128 spread = (unsigned __int128)n * squares - (unsigned __int128)sum * sum;
    *mean = (double)sum / (255.0 * (double)n);
    *std = spread == 0 ? 1 : sqrt((double)spread) / (255.0 * (double)n);
}

/* Keeps the first `limit` images and gives the rest of the memory back. */
static void keep_first(tl_split *split, size_t limit, size_t image_bytes) {
    if (limit >= split->count) return;
    uint8_t *images = realloc(split->images, limit * image_bytes);
    uint8_t *labels = realloc(split->labels, limit);
    if (images) split->images = images; /* else the old, larger block stays valid */
    if (labels) split->labels = labels;
    split->count = limit;
}

/* Fills d. The whole set is read and checked even if only its first images are kept: a damaged file
 * should show in the first short run and not in the long one after it. */
static tl_status load(tl_dataset *d, const known_set *set, const char *root, size_t limit) {
    tl_data_place place = {.fix = set->fix};
    TL_TRY(tl_data_path(place.folder, root, set->name));
    strcpy(d->name, set->name);
    d->c = set->c;
    d->h = set->h;
    d->w = set->w;
    d->classes = set->classes;
    TL_TRY(set->load(d, &place));
    size_t plane = (size_t)d->h * (size_t)d->w, image_bytes = plane * (size_t)d->c;
    if (limit > 0) {
        keep_first(&d->train, limit, image_bytes);
        keep_first(&d->test, limit, image_bytes);
    }
    for (int ch = 0; ch < d->c; ch++)
        channel_statistics(&d->mean[ch], &d->std[ch], &d->train, image_bytes, plane,
                           (size_t)ch * plane);
    return TL_OK;
}

tl_status tl_dataset_load(tl_dataset **d, const char *name, const char *root, size_t limit) {
    TL_NEED(d && root, TL_EINVAL, "tl_dataset_load needs a place for its result and a root folder");
    *d = NULL;
    const known_set *set = find_set(name);
    TL_NEED(set, TL_EINVAL, "there is no data set \"%s\": choose cifar10, mnist or shapes10",
            name ? name : "(null)");
    TL_NEED(limit <= set->train_count, TL_EINVAL,
            "a limit of %zu images is more than the %zu training images of %s", limit,
            set->train_count, name);
    tl_dataset *made = calloc(1, sizeof *made);
    TL_NEED(made, TL_ENOMEM, "no memory for data set %s", name);
    tl_status status = load(made, set, root, limit);
    if (status == TL_OK)
        *d = made;
    else
        tl_dataset_free(made);
    return status;
}

void tl_dataset_free(tl_dataset *d) {
    if (!d) return;
    tl_split_clear(&d->train);
    tl_split_clear(&d->test);
    free(d);
}

/* Device memory with a copy of `bytes` host bytes; NULL on failure. */
static tl_status send(tl_ctx *ctx, void **device, const void *host, size_t bytes) {
    *device = NULL;
    TL_TRY(tl_alloc_get(ctx->alloc, device, bytes));
    tl_status status = ctx->ops->copy_in(ctx, *device, host, bytes);
    if (status == TL_OK) return TL_OK;
    tl_alloc_put(ctx->alloc, *device);
    *device = NULL;
    return status;
}

/* The table is made in double and rounded once here, so that no device rounds it in its own way. */
static tl_status send_split(tl_ctx *ctx, tl_device_split *to, const tl_dataset *d,
                            const tl_split *from) {
    tl_real lut[TL_MAX_CHANNELS * 256];
    for (int ch = 0; ch < d->c; ch++)
        for (int byte = 0; byte < 256; byte++)
            lut[ch * 256 + byte] = (tl_real)((byte / 255.0 - d->mean[ch]) / d->std[ch]);
    size_t image_bytes = (size_t)d->c * (size_t)d->h * (size_t)d->w;
    void *block;
    TL_TRY(send(ctx, &block, from->images, from->count * image_bytes));
    to->images = block;
    TL_TRY(send(ctx, &block, from->labels, from->count));
    to->labels = block;
    TL_TRY(send(ctx, &block, lut, (size_t)d->c * 256 * sizeof *lut));
    to->lut = block;
    return TL_OK;
}

tl_status tl_split_upload(tl_ctx *ctx, tl_device_split *to, const tl_dataset *d,
                          const tl_split *from) {
    *to = (tl_device_split){
        .count = from->count, .c = d->c, .h = d->h, .w = d->w, .classes = d->classes};
    TL_NEED(d->c >= 1 && d->c <= TL_MAX_CHANNELS, TL_EINVAL,
            "images with %d channels, expected 1 to %d", d->c, TL_MAX_CHANNELS);
    tl_status status = send_split(ctx, to, d, from);
    if (status != TL_OK) tl_split_release(ctx, to);
    return status;
}

void tl_split_release(tl_ctx *ctx, tl_device_split *split) {
    tl_alloc_put(ctx->alloc, split->images);
    tl_alloc_put(ctx->alloc, split->labels);
    tl_alloc_put(ctx->alloc, split->lut);
    *split = (tl_device_split){0};
}
