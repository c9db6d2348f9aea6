/* fuzz_record.c: the reader of checkpoints, plans and weights, on bytes that a fuzzer makes up.
 *
 * The reader sees a file of exactly those bytes. A CRC would stop nearly all of them at the first
 * section, so a copy with the sums put right is read as well: it gets as far as the bytes behind
 * the sums allow. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "labs/common/record_internal.h"

static int memory = -1;
static char path[32];

static void set_file(const uint8_t *data, size_t size) {
    if (memory < 0) {
        memory = memfd_create("record", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    }
    if (memory < 0 || ftruncate(memory, 0) != 0 || pwrite(memory, data, size, 0) != (ssize_t)size)
        abort(); /* the machine's fault, and no finding */
}

/* Reads, and uses what was read as programs do: each byte of each section, and each name. */
static void read_file(void) {
    tl_record *r;
    if (tl_record_read(&r, path) != TL_OK) {
        if (r != NULL || tl_error()[0] == '\0') abort(); /* half a record, or no reason given */
        return;
    }
    uint32_t sum = 0;
    for (int i = 0; i < r->sections; i++) {
        const tl_section *s = &r->section[i], *found;
        sum = tl_crc32(sum, s->data, (size_t)s->bytes);
        if (strlen(s->name) >= TL_SECTION_NAME) abort();
        if (tl_record_find(r, &found, s->name, s->dtype, s->bytes / tl_dtype_bytes(s->dtype)) ||
            found != s)
            abort();
    }
    volatile uint32_t used = sum;
    (void)used;
    tl_record_free(r);
}

/* Puts the sum of every section right whose header says that it lies within the file. */
static void mend_sums(uint8_t *data, size_t size) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    set_file(data, size);
    read_file();
    uint8_t *mended = malloc(size + 1);
    if (mended == NULL) abort();
    memcpy(mended, data, size);
    mend_sums(mended, size);
    set_file(mended, size);
    free(mended);
    read_file();
    return 0;
}
