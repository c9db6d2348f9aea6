/* fuzz_dataset.c: the loaders of CIFAR-10 and MNIST, on whole sets that a fuzzer has spoilt.
 *
 * A fuzzer that wrote whole files would change little of them on purpose. So it writes edits
 * instead: which file, where, which byte; and what to do to the file's length or to a read. They
 * are made in a sound set that lies in memory, which stands behind open, fstat and read (linked
 * with --wrap), and are undone afterwards. FUZZ_SET (at compile time) is cifar10 or mnist; the
 * numbers of images are those of fuzz.sh, which shrinks the loaders' own numbers alike: an official
 * set has up to 184 MB, and reading that takes a hundred times as long as what is tried here. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tl/dataset_internal.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

enum { FILES = 6, FIRST_DESCRIPTOR = 5000, EDITS = 64 };
enum { CIFAR_IMAGE = 3072, CIFAR_RECORD = 1 + CIFAR_IMAGE };
enum { MNIST_IMAGE = 784, IMAGES_HEADER = 16, LABELS_HEADER = 8 };

typedef struct fake_file {
    const char *name;
    uint8_t *bytes, header[IMAGES_HEADER]; /* all; and the first as they were */
    size_t size;
    long long said;     /* what fstat says */
    size_t ends;        /* where reading stops, whatever was said */
    size_t at, at_once; /* read so far; read gives no more than this at a time */
    mode_t kind;
    int open_error, stat_error, read_error; /* 0: none */
} fake_file;

static fake_file file[FILES];
static int files;
static size_t limit;
static bool changed; /* a byte of a file */
static const bool is_mnist = sizeof TEXT(FUZZ_SET) == sizeof "mnist";

static void need(bool condition) {
    if (!condition) abort();
}

static fake_file *add_file(const char *name, size_t size) {
    fake_file *f = &file[files++];
    *f = (fake_file){.name = name, .bytes = calloc(size, 1), .size = size};
    need(f->bytes);
    return f;
}

static void put_header(fake_file *f, uint32_t magic, uint32_t count, bool images) {
    const uint32_t number[4] = {magic, count, 28, 28};
    for (int i = 0; i < (images ? 4 : 2); i++)
        for (int b = 0; b < 4; b++) f->bytes[4 * i + b] = (uint8_t)(number[i] >> (24 - 8 * b));
}

static void make_mnist(void) {
    static const struct {
        const char *images, *labels;
        uint32_t count;
    } half[2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", FUZZ_TRAIN},
                 {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", FUZZ_TEST}};
    for (int i = 0; i < 2; i++) {
        uint32_t count = half[i].count;
        put_header(add_file(half[i].images, IMAGES_HEADER + count * MNIST_IMAGE), 0x803, count,
                   true);
        fake_file *f = add_file(half[i].labels, LABELS_HEADER + count);
        put_header(f, 0x801, count, false);
        for (size_t r = 0; r < count; r++) f->bytes[LABELS_HEADER + r] = (uint8_t)(r % 10);
    }
}

static void make_cifar10(void) {
    static const char *const batch[FILES] = {"data_batch_1.bin", "data_batch_2.bin",
                                             "data_batch_3.bin", "data_batch_4.bin",
                                             "data_batch_5.bin", "test_batch.bin"};
    for (int i = 0; i < FILES; i++) {
        fake_file *f = add_file(batch[i], FUZZ_TEST * CIFAR_RECORD);
        for (size_t r = 0; r < FUZZ_TEST; r++) f->bytes[r * CIFAR_RECORD] = (uint8_t)(r % 10);
    }
}

/* A sound set: every class equally often, and images whose bytes differ from their neighbours'. */
static void make_set(void) {
    is_mnist ? make_mnist() : make_cifar10();
    for (int i = 0; i < files; i++) {
        bool labels = is_mnist && i % 2;
        for (size_t at = IMAGES_HEADER; at < file[i].size && !labels; at++)
            if (is_mnist || at % CIFAR_RECORD) file[i].bytes[at] = (uint8_t)(at * 7 + (size_t)i);
        memcpy(file[i].header, file[i].bytes, IMAGES_HEADER);
    }
}

static void forget_faults(void) {
    for (int i = 0; i < files; i++) {
        fake_file *f = &file[i];
        f->said = (long long)f->size;
        f->ends = f->at_once = f->size;
        f->at = 0;
        f->kind = S_IFREG;
        f->open_error = f->stat_error = f->read_error = 0;
    }
    limit = 10;
    changed = false;
}

/* Nothing that should keep a set from loading: a signal or reads of a few bytes are no faults. */
static bool is_sound(const fake_file *f) {
    return !f->open_error && !f->stat_error && f->read_error != EIO && f->kind == S_IFREG &&
           f->said == (long long)f->size && f->ends == f->size;
}

/* ---- what the loaders call instead of the system ------------------------------------------------
 */

int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int descriptor, struct stat *about);
ssize_t __wrap_read(int descriptor, void *to, size_t bytes);
int __wrap_close(int descriptor);

static int fails(int error) {
    errno = error;
    return error ? -1 : 0;
}

int __wrap_open(const char *path, int flags, ...) {
    const char *name = strrchr(path, '/') + 1;
    (void)flags;
    for (int i = 0; i < files; i++)
        if (strcmp(file[i].name, name) == 0)
            return fails(file[i].open_error) ? -1 : FIRST_DESCRIPTOR + i;
    return fails(ENOENT);
}

int __wrap_fstat(int descriptor, struct stat *about) {
    const fake_file *f = &file[descriptor - FIRST_DESCRIPTOR];
    memset(about, 0, sizeof *about);
    about->st_mode = f->kind;
    about->st_size = f->said;
    return fails(f->stat_error);
}

ssize_t __wrap_read(int descriptor, void *to, size_t bytes) {
    fake_file *f = &file[descriptor - FIRST_DESCRIPTOR];
    size_t left = f->ends > f->at ? f->ends - f->at : 0, give = bytes < left ? bytes : left;
    if (fails(f->read_error)) {
        if (f->read_error == EINTR) f->read_error = 0; /* a signal comes once */
        return -1;
    }
    if (give > f->at_once) give = f->at_once; /* read may always give less than asked for */
    memcpy(to, f->bytes + f->at, give);
    f->at += give;
    return (ssize_t)give;
}

int __wrap_close(int descriptor) {
    file[descriptor - FIRST_DESCRIPTOR].at = 0;
    return 0;
}

/* ---- one input ----------------------------------------------------------------------------------
 */

enum {
    CHANGE,
    CUT,
    LENGTH,
    CUT_WHILE_READ,
    READ_ERROR,
    SHORT_READS,
    NO_FILE,
    NO_SIZE,
    KIND,
    LIMIT
};

typedef struct edit {
    uint8_t kind, which, value;
    uint8_t where[4];
} edit;

static uint8_t *place(const edit *e) {
    const fake_file *f = &file[e->which % files];
    uint32_t where;
    memcpy(&where, e->where, sizeof where);
    return f->bytes + where % f->size;
}

/* A kind without a name changes a byte, too; lengths and reads are changed once a file. */
static void apply(const edit *e, uint8_t *undo) {
    fake_file *f = &file[e->which % files];
    uint8_t *byte = place(e);
    *undo = *byte;
    switch (e->kind) {
    case CUT: /* and fstat says so */
        f->ends = (size_t)(byte - f->bytes);
        f->said = (long long)f->ends;
        break;
    case LENGTH: /* longer than it may be, or negative: fstat is not believed either */
        f->said = e->value & 1 ? -1 : (long long)f->size + e->value;
        break;
    case CUT_WHILE_READ:
        f->ends = (size_t)(byte - f->bytes);
        break;
    case READ_ERROR:
        f->read_error = e->value & 1 ? EINTR : EIO;
        break;
    case SHORT_READS: /* a few at a time, but so that a set takes no more than some hundred reads */
        f->at_once = f->size / 64 + e->value + 1;
        break;
    case NO_FILE:
        f->open_error = e->value & 1 ? ENOENT : EACCES;
        break;
    case NO_SIZE:
        f->stat_error = EIO;
        break;
    case KIND:
        f->kind = e->value & 1 ? S_IFDIR : S_IFIFO;
        break;
    case LIMIT:
        limit = e->value; /* 0: none */
        break;
    default:
        changed = changed || *byte != e->value;
        *byte = e->value;
    }
}

/* Where record i of the training files (half 0) or the test files lies. */
static void find_record(int half, size_t i, const uint8_t **label, const uint8_t **image) {
    if (is_mnist) {
        *image = file[2 * half].bytes + IMAGES_HEADER + i * MNIST_IMAGE;
        *label = file[2 * half + 1].bytes + LABELS_HEADER + i;
    } else {
        *label = file[half ? 5 : i / FUZZ_TEST].bytes + i % FUZZ_TEST * CIFAR_RECORD;
        *image = *label + 1;
    }
}

/* Only a set without faults loads, and then it is what its files hold. */
static void expect_content(const tl_dataset *d) {
    for (int i = 0; i < files; i++) {
        const size_t header = !is_mnist ? 0 : i % 2 ? LABELS_HEADER : IMAGES_HEADER;
        need(is_sound(&file[i]) && memcmp(file[i].bytes, file[i].header, header) == 0);
    }
    const tl_split *split[2] = {&d->train, &d->test};
    const size_t bytes = is_mnist ? MNIST_IMAGE : CIFAR_IMAGE;
    for (int half = 0; half < 2; half++) {
        need(split[half]->count > 0);
        for (size_t i = 0; i < split[half]->count; i++) {
            const uint8_t *label, *image;
            find_record(half, i, &label, &image);
            need(split[half]->labels[i] == *label && *label < 10);
            need(memcmp(split[half]->images + i * bytes, image, bytes) == 0);
        }
    }
}

/* CIFAR-10 has every class equally often; MNIST does not. */
static void expect_balance(void) {
    size_t train[10] = {0}, test[10] = {0};
    for (int f = 0; f < FILES; f++)
        for (size_t r = 0; r < FUZZ_TEST; r++)
            (f < FILES - 1 ? train : test)[file[f].bytes[r * CIFAR_RECORD]]++;
    for (int label = 0; label < 10; label++)
        need(test[label] == FUZZ_TEST / 10 && train[label] == (FILES - 1) * FUZZ_TEST / 10);
}

static void load_set(void) {
    tl_dataset *d = NULL;
    bool sound = !changed;
    for (int i = 0; i < files; i++) sound = sound && is_sound(&file[i]);
    tl_status status = tl_dataset_load(&d, TEXT(FUZZ_SET), "/set", limit);
    need((status == TL_OK) == (d != NULL) && (status == TL_OK || tl_error()[0] != '\0'));
    need(d || !sound);
    if (d) expect_content(d);
    if (d && !is_mnist) expect_balance();
    tl_dataset_free(d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    tl_dataset *d = NULL;
    make_set();
    forget_faults();
    need(tl_dataset_load(&d, TEXT(FUZZ_SET), "/set", limit) == TL_OK); /* else nothing is tried */
    tl_dataset_free(d);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    forget_faults();
    edit list[EDITS];
    uint8_t undo[EDITS];
    int count = (int)(size / sizeof *list < EDITS ? size / sizeof *list : EDITS);
    if (count) memcpy(list, data, (size_t)count * sizeof *list);
    for (int i = 0; i < count; i++) apply(&list[i], &undo[i]);
    load_set();
    for (int i = count - 1; i >= 0; i--) /* backwards: two edits may meet in one byte */
        *place(&list[i]) = undo[i];
    return 0;
}
