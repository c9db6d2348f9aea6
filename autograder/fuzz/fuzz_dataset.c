/* fuzz_dataset.c: the loaders of CIFAR-10 and MNIST, on whole sets that a fuzzer has spoilt.
 *
 * A set has up to 184 MB, of which a fuzzer could change nothing on purpose. So it writes edits
 * instead: which file, where, which byte; and what to do to the file's length or to a read. They
 * are made in a sound set that lies in memory, which stands behind open, fstat and read (linked
 * with
 * --wrap), and are undone afterwards. FUZZ_SET (at compile time) is cifar10 or mnist. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "labs/common/dataset_internal.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

enum { FILES = 6, FIRST_DESCRIPTOR = 5000, EDITS = 64 };

typedef struct fake_file {
    const char *name;
    uint8_t *bytes;
    size_t size;
    long long said; /* what fstat says */
    size_t ends;    /* where reading stops, whatever was said */
    size_t at;
    bool broken; /* reading fails */
} fake_file;

static fake_file file[FILES];
static int files;

static fake_file *add_file(const char *name, size_t size) {
    fake_file *f = &file[files++];
    *f = (fake_file){.name = name, .bytes = calloc(size, 1), .size = size};
    if (!f->bytes) abort();
    return f;
}

static void put_header(fake_file *f, uint32_t magic, uint32_t count, bool images) {
    const uint32_t number[4] = {magic, count, 28, 28};
    for (int i = 0; i < (images ? 4 : 2); i++)
        for (int b = 0; b < 4; b++) f->bytes[4 * i + b] = (uint8_t)(number[i] >> (24 - 8 * b));
}

/* A sound set: every class equally often, images of zeros. */
static void make_set(void) {
    static const char *const batch[FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                             "data_batch_3.bin", "data_batch_4.bin",
                                             "data_batch_5.bin", "test_batch.bin"};
    static const struct {
        const char *images, *labels;
        uint32_t count;
    } half[2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", 60000},
                 {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 10000}};
    if (strcmp(TEXT(FUZZ_SET), "cifar10") == 0) {
        for (int i = 0; i < FILES; i++) {
            fake_file *f = add_file(batch[i], 10000 * 3073);
            for (size_t r = 0; r < 10000; r++) f->bytes[r * 3073] = (uint8_t)(r % 10);
        }
        return;
    }
    for (int i = 0; i < 2; i++) {
        put_header(add_file(half[i].images, 16 + half[i].count * 784), 0x803, half[i].count, true);
        fake_file *f = add_file(half[i].labels, 8 + half[i].count);
        put_header(f, 0x801, half[i].count, false);
        for (size_t r = 0; r < half[i].count; r++) f->bytes[8 + r] = (uint8_t)(r % 10);
    }
}

/* ---- what the loaders call instead of the system -----------------------------------------------
 */

int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat *about);
ssize_t __wrap_read(int descriptor, void *to, size_t bytes);
int __wrap_close(int descriptor);

int __wrap_open(const char *path, int flags, ...) {
    const char *name = strrchr(path, '/') + 1;
    (void)flags;
    for (int i = 0; i < files; i++)
        if (strcmp(file[i].name, name) == 0) return FIRST_DESCRIPTOR + i;
    errno = ENOENT;
    return -1;
}

int __wrap_fstat(int descriptor, struct stat *about) {
    memset(about, 0, sizeof *about);
    about->st_mode = S_IFREG;
    about->st_size = file[descriptor - FIRST_DESCRIPTOR].said;
    return 0;
}

ssize_t __wrap_read(int descriptor, void *to, size_t bytes) {
    fake_file *f = &file[descriptor - FIRST_DESCRIPTOR];
    size_t left = f->ends > f->at ? f->ends - f->at : 0, give = bytes < left ? bytes : left;
    if (f->broken) {
        errno = EIO;
        return -1;
    }
    if (give > 1 << 20) give = 1 << 20; /* read may always give less than asked for */
    memcpy(to, f->bytes + f->at, give);
    f->at += give;
    return (ssize_t)give;
}

int __wrap_close(int descriptor) {
    file[descriptor - FIRST_DESCRIPTOR].at = 0;
    return 0;
}

/* ---- one input
 * ----------------------------------------------------------------------------------- */

typedef struct edit {
    uint8_t kind, which, value;
    uint8_t where[4];
} edit;

/* Kinds: 0 and all that are not named change a byte; lengths and reads are changed once a file. */
static void apply(const edit *e, uint8_t *undo) {
    fake_file *f = &file[e->which % files];
    uint32_t where;
    memcpy(&where, e->where, sizeof where);
    size_t at = where % f->size;
    *undo = f->bytes[at];
    switch (e->kind) {
    case 1: /* cut, and fstat says so */
        f->said = (long long)at;
        f->ends = at;
        break;
    case 2: /* longer than it may be, or negative: fstat is not believed either */
        f->said = e->value & 1 ? -1 : (long long)f->size + e->value;
        break;
    case 3: /* cut while it is being read */
        f->ends = at;
        break;
    case 4:
        f->broken = true;
        break;
    default:
        f->bytes[at] = e->value;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!files) make_set();
    for (int i = 0; i < files; i++) {
        file[i].said = (long long)file[i].size;
        file[i].ends = file[i].size;
        file[i].at = 0;
        file[i].broken = false;
    }
    edit list[EDITS];
    uint8_t undo[EDITS];
    int count = (int)(size / sizeof *list < EDITS ? size / sizeof *list : EDITS);
    memcpy(list, data, (size_t)count * sizeof *list);
    for (int i = 0; i < count; i++) apply(&list[i], &undo[i]);

    tl_dataset *d = NULL;
    tl_status status = tl_dataset_load(&d, TEXT(FUZZ_SET), "/set", 10);
    if (status != TL_OK && (d != NULL || tl_error()[0] == '\0')) abort();
    if (status == TL_OK)
        for (size_t i = 0; i < d->train.count; i++)
            if (d->train.labels[i] > 9) abort();
    tl_dataset_free(d);

    for (int i = count - 1; i >= 0; i--) { /* backwards: two edits may meet in one byte */
        uint32_t where;
        memcpy(&where, list[i].where, sizeof where);
        fake_file *f = &file[list[i].which % files];
        f->bytes[where % f->size] = undo[i];
    }
    return 0;
}
