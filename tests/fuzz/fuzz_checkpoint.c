/* fuzz_checkpoint.c: the readers of checkpoints and weights, on bytes that a fuzzer makes up.
 *
 * They see a file of exactly those bytes. A CRC would stop nearly all of them at the first section,
 * so a copy with the sums put right is read as well: it gets as far as the bytes behind the sums
 * allow. The run that they load into is a few arrays, one of each kind that a checkpoint holds. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tl/record_internal.h"
#include "tl/backend.h"
#include "tl/checkpoint.h"

static void need(int condition) {
    if (!condition) abort();
}

/* ---- a run without a net -----------------------------------------------------------------------
 */

enum { WEIGHTS = 18, BIASES = 2, BIAS_AT = 64, FLAT = 128, IMAGES = 23, EPOCHS = 3 };
static const char options[] = "net=tiny batch=4"; /* those of the seeds, see seeds.py */

/* What a load may change. */
typedef struct memory {
    tl_real value[FLAT], state[2][FLAT], running[BIASES];
    tl_metric_sums sums;
    uint64_t seed, index;
    uint32_t epoch, first, epochs;
    tl_epoch_figures figures[EPOCHS]; /* what the history holds of them */
} memory;

static memory now;

static tl_status copy(tl_ctx *ctx, void *to, const void *from, size_t bytes) {
    (void)ctx;
    memcpy(to, from, bytes);
    return TL_OK;
}

static const tl_backend ops = {.name = "memory", .copy_in = copy, .copy_out = copy};
static tl_ctx ctx = {.ops = &ops, .threads = 1};
static tl_tensor weight = {
    .ctx = &ctx, .data = now.value, .ndim = 4, .dim = {2, 1, 3, 3}, .size = WEIGHTS};
static tl_tensor bias = {
    .ctx = &ctx, .data = now.value + BIAS_AT, .ndim = 1, .dim = {2, 1, 1, 1}, .size = BIASES};
static tl_tensor running = {
    .ctx = &ctx, .data = now.running, .ndim = 1, .dim = {2, 1, 1, 1}, .size = BIASES};
static tl_var weight_var = {.value = &weight}, bias_var = {.value = &bias};
static tl_param entry[] = {{.name = "weight", .var = &weight_var, .offset = 0},
                           {.name = "bias", .var = &bias_var, .offset = BIAS_AT},
                           {.name = "mean", .buffer = &running}};
static tl_params params = {
    .ctx = &ctx, .value = now.value, .size = FLAT, .count = 20, .entries = 3, .entry = entry};

/* Everything as no file of a fuzzer is likely to leave it. */
static void fresh(tl_trainer *tr) {
    memset(&now, 0x5a, sizeof now);
    *tr =
        (tl_trainer){.ctx = &ctx, .params = &params, .sums = &now.sums, .train = {.count = IMAGES}};
    tr->optimizer = (tl_optimizer){.states = 2, .state = {now.state[0], now.state[1]}};
    const tl_metrics some = {.loss = 7, .accuracy = 0.5, .count = 1};
    for (int i = 0; i < EPOCHS; i++) need(tl_history_add(&tr->history, &some, &some) == TL_OK);
    tr->seed = now.seed, tr->index = now.index, tr->epoch = now.epoch, tr->first = now.first;
}

static void note_position(const tl_trainer *tr) {
    const tl_history *h = &tr->history;
    now.seed = tr->seed, now.index = tr->index, now.epoch = tr->epoch, now.first = tr->first;
    now.epochs = h->epochs;
    for (uint32_t i = 0; i < EPOCHS && i < h->epochs; i++) now.figures[i] = h->epoch[i];
}

/* ---- the file -----------------------------------------------------------------------------------
 */

static int file = -1;
static char path[32];

static void set_file(const uint8_t *data, size_t size) {
    if (file < 0) {
        file = memfd_create("checkpoint", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    /* a failure here is the machine's, and no finding; it must not pass for a clean run either */
    need(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
}

/* Puts the sum of every section right whose header says that it lies within the file. */
static void fix_sums(uint8_t *data, size_t size) {
    size_t at = sizeof(file_header);
    while (at + sizeof(section_header) <= size) {
        section_header h;
        memcpy(&h, data + at, sizeof h);
        size_t left = size - at - sizeof h;
        if (h.bytes > left) return;
        h.crc = tl_crc32(0, &h, SECTION_CRC_SPAN);
        h.crc = tl_crc32(h.crc, data + at + sizeof h, (size_t)h.bytes);
        memcpy(data + at, &h, sizeof h);
        at += sizeof h + (size_t)h.bytes + record_padding(h.bytes);
    }
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* Uses a record as programs do: each byte of each section, and each name. */
static void use_record(const tl_record *r) {
    uint32_t sum = 0;
    for (int i = 0; i < r->sections; i++) {
        const tl_section *s = &r->section[i], *found;
        sum = tl_crc32(sum, s->data, (size_t)s->bytes);
        need(strlen(s->name) < TL_SECTION_NAME);
        need(tl_record_find(r, &found, s->name, s->dtype, s->bytes / tl_dtype_bytes(s->dtype)) ==
             0);
        need(found == s);
    }
    volatile uint32_t used = sum;
    (void)used;
}

/* The history is the file's section, a row for each epoch that is done; in the first there is none.
 */
static void expect_history(const tl_record *r, const tl_history *h, uint32_t epochs) {
    const tl_section *s;
    need(h->epochs == epochs);
    if (epochs == 0) return;
    need(tl_record_find(r, &s, "history", TL_F64, 4 * (uint64_t)epochs) == TL_OK);
    need(s->ndim == 2 && s->dim[0] == epochs && s->dim[1] == 4);
    need(memcmp(h->epoch, s->data, (size_t)s->bytes) == 0);
}

static void expect_tensor(const tl_record *r, const char *name, const tl_tensor *t) {
    const tl_section *s;
    need(tl_record_find(r, &s, name, TL_DTYPE_REAL, t->size) == TL_OK && s->ndim == t->ndim);
    for (int i = 0; i < TL_MAX_DIMS; i++) need(s->dim[i] == (uint64_t)t->dim[i]);
    need(memcmp(s->data, t->data, t->size * sizeof *t->data) == 0);
}

static tl_status load_checkpoint(tl_trainer *tr) { return tl_checkpoint_load(tr, path, options); }
static tl_status load_weights(tl_trainer *tr) { return tl_weights_load(tr->params, path); }

/* A load that fails gives a reason and changes nothing; one that succeeds has loaded the file. */
static void load(const tl_record *r, tl_status (*loads)(tl_trainer *tr)) {
    tl_trainer tr;
    fresh(&tr);
    note_position(&tr);
    const memory before = now;
    tl_status status = loads(&tr);
    note_position(&tr);
    if (status != TL_OK) {
        need(memcmp(&now, &before, sizeof now) == 0 && tl_error()[0] != '\0');
        tl_history_clear(&tr.history);
        return;
    }
    need(r != NULL); /* else a damaged file was loaded */
    if (loads == load_checkpoint) expect_history(r, &tr.history, tr.epoch);
    tl_history_clear(&tr.history);
    expect_tensor(r, "w/weight", &weight);
    expect_tensor(r, "w/bias", &bias);
    expect_tensor(r, "b/mean", &running);
    need(now.first <= IMAGES || now.first == before.first);
}

static void read_file(void) {
    tl_record *r;
    tl_status status = tl_record_read(&r, path);
    need((status == TL_OK) == (r != NULL) && (status == TL_OK || tl_error()[0] != '\0'));
    if (r != NULL) use_record(r);
    load(r, load_checkpoint);
    load(r, load_weights);
    tl_record_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    set_file(data, size);
    read_file();
    uint8_t *fixed = malloc(size + 1);
    need(fixed != NULL);
    memcpy(fixed, data, size);
    fix_sums(fixed, size);
    set_file(fixed, size);
    free(fixed);
    read_file();
    return 0;
}
