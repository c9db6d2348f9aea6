/* tl/data.h: data sets, on the host as the official files hold them and on the device as bytes.
 *
 * Files (given root, normally $GRADLAB_DATA): root/cifar10/data_batch_{1..5}.bin, test_batch.bin;
 * root/mnist/{train,t10k}-{images-idx3,labels-idx1}-ubyte; root/shapes10/ in CIFAR-10's form.
 * Loaders check sizes, label range and completeness, and never read beyond a file. */
#ifndef TL_DATA_H
#define TL_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "tl/context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_MAX_CHANNELS = 4 };

typedef struct tl_split {
    size_t count;    /* images */
    uint8_t *images; /* [count, c, h, w] */
    uint8_t *labels; /* [count] */
} tl_split;

typedef struct tl_dataset {
    char name[16];
    int c, h, w, classes;
    tl_split train, test;         /* host memory, owned */
    double mean[TL_MAX_CHANNELS]; /* of train, per channel, of byte/255; exact integer sums */
    double std[TL_MAX_CHANNELS];  /* square root of the biased variance, 1 if that is 0 */
} tl_dataset;

/* Loads "cifar10", "mnist" or "shapes10". limit > 0 keeps only the first `limit` training and test
 * images (mean and std are those of what is kept). TL_EIO: a file is missing or unreadable;
 * TL_EFORMAT: wrong size, header or label; the line names file, what is wrong and how to fix it.
 */
tl_status tl_dataset_load(tl_dataset **d, const char *name, const char *root, size_t limit);
void tl_dataset_free(tl_dataset *d);

/* Whether all files of the set are there (their content is not looked at). */
int tl_dataset_exists(const char *name, const char *root);

/* Draws the ten classes of shapes10 and writes root/shapes10 in CIFAR-10's form; the same bytes for
 * the same seed on every machine. Files appear only when complete; what a killed run left
 * half-written is removed. */
tl_status tl_shapes10_write(const char *root, uint64_t seed);
enum { TL_SHAPES10_SEED = 1 }; /* of the set that everybody means by "shapes10" */
/* Draws image `index` (training set, or test set from 2^32 on) as 3x32x32 bytes, and its label. */
void tl_shapes10_draw(uint8_t image[3072], uint8_t *label, uint64_t seed, uint64_t index);

/* One split in device memory. lut[ch*256 + byte] is the standardised value (byte/255 - mean)/std of
 * channel ch, computed on the host in double and rounded once: the same bits on every device. */
typedef struct tl_device_split {
    size_t count;
    int c, h, w, classes;
    uint8_t *images, *labels;
    tl_real *lut;
} tl_device_split;

tl_status tl_split_upload(tl_ctx *ctx, tl_device_split *to, const tl_dataset *d,
                          const tl_split *from);
void tl_split_release(tl_ctx *ctx, tl_device_split *split);

/* How a batch is drawn from a split. */
typedef struct tl_batch_geom {
    int n;       /* images of this batch, first + n <= count */
    int shuffle; /* 1: image tl_rng_permute(seed, epoch, count, first + i); 0: image first + i */
    int augment; /* 1: crop from the image padded by `pad` black pixels, and flip half of them */
    int pad;     /* zero or more; black is byte 0, standardised like every other byte */
} tl_batch_geom;

/* The student's batch loader (lab 5): x[n,c,h,w] and label[n] from the split, by the rules above
 * with tl_rng_crop(seed, epoch, first + i, pad); seed, epoch and first come from *step (device
 * memory). TL_EINVAL if a pointer is NULL, those of the split included, if n is below 1 or above
 * the split's count, or if pad is negative. */
tl_status tl_batch_load(tl_ctx *ctx, tl_real *x, int32_t *label, const tl_device_split *split,
                        const tl_step *step, const tl_batch_geom *g);

#ifdef __cplusplus
}
#endif
#endif
