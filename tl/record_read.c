/* record_read.c: reading record files: checked whole before anything is believed (tl/record.h). */
#include "record_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGED "the file is damaged or of another kind; make it again or use a copy"

void tl_record_free(tl_record *r) {
    if (r == NULL) return;
    free(r->path);
    free(r->section);
    free(r->bytes);
    free(r);
}

/* Reads all of an open file into r->bytes. Its own size is the only number trusted so far. */
static tl_status load_open(tl_record *r, size_t *size, int fd, const char *path) {
    struct stat about;
    TL_NEED(fstat(fd, &about) == 0, TL_EIO, "cannot read %s: %s", path, strerror(errno));
    TL_NEED(S_ISREG(about.st_mode), TL_EIO, "cannot read %s: not a file", path);
    *size = (size_t)about.st_size;
    TL_NEED(*size >= sizeof(file_header), TL_EFORMAT,
            "%s: %zu bytes hold no record header; " DAMAGED, path, *size);
    r->bytes = malloc(*size);
    TL_NEED(r->bytes != NULL, TL_ENOMEM, "out of host memory for %s (%zu bytes)", path, *size);
    for (size_t done = 0; done < *size;) {
        ssize_t got = read(fd, (char *)r->bytes + done, *size - done);
        if (got < 0 && errno == EINTR) continue;
        TL_NEED(got >= 0, TL_EIO, "cannot read %s: %s", path, strerror(errno));
        TL_NEED(got > 0, TL_EIO, "%s became shorter while it was read", path);
        done += (size_t)got;
    }
    return TL_OK;
}

/* Opens, loads and closes, whatever happens between. */
static tl_status load_file(tl_record *r, size_t *size, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    TL_NEED(fd >= 0, TL_EIO, "cannot open %s: %s", path, strerror(errno));
    tl_status status = load_open(r, size, fd, path);
    close(fd);
    return status;
}

/* Checks the header and makes room for the sections. A count that the file cannot hold is refused
 * before anything is allocated by it. */
static tl_status parse_header(tl_record *r, size_t size) {
    file_header header;
    memcpy(&header, r->bytes, sizeof header);
    TL_NEED(memcmp(header.magic, RECORD_MAGIC, sizeof header.magic) == 0, TL_EFORMAT,
            "%s does not start with %s; " DAMAGED, r->path, RECORD_MAGIC);
    TL_NEED(header.version == TL_RECORD_VERSION, TL_EFORMAT,
            "%s has record version %u, this program reads version %d; write it again with this "
            "program",
            r->path, header.version, TL_RECORD_VERSION);
    size_t most = (size - sizeof header) / sizeof(section_header);
    TL_NEED(header.sections <= most && header.sections <= INT32_MAX, TL_EFORMAT,
            "%s claims %u sections in %zu bytes; " DAMAGED, r->path, header.sections, size);
    r->sections = (int)header.sections;
    r->section = calloc(header.sections + (size_t)1, sizeof *r->section);
    TL_NEED(r->section != NULL, TL_ENOMEM, "out of host memory for %u sections", header.sections);
    return TL_OK;
}

/* What can be wrong in a section's header, in words; NULL if nothing is. `left` is what the file
 * holds after this header. */
static const char *header_fault(const section_header *h, size_t left) {
    if (h->name[0] == 0 || memchr(h->name, 0, sizeof h->name) == NULL)
        return "its name is empty or does not end";
    if (tl_dtype_bytes((tl_dtype)h->dtype) == 0) return "its dtype is unknown";
    if (h->ndim < 1 || h->ndim > TL_SECTION_DIMS) return "its number of dims is not 1 to 4";
    for (unsigned i = h->ndim; i < TL_SECTION_DIMS; i++)
        if (h->dim[i] != 1) return "an unused dim is not 1";
    uint64_t bytes;
    if (!record_data_bytes(&bytes, (tl_dtype)h->dtype, h->ndim, h->dim))
        return "a dim is 0, or their product overflows";
    if (bytes != h->bytes) return "its bytes differ from dims times dtype";
    /* Compared without a sum, which could wrap. */
    if (bytes > left || record_padding(bytes) > left - bytes)
        return "its data ends beyond the file";
    if (h->zero != 0) return "its reserved word is not zero";
    return NULL;
}

/* What can be wrong beyond the header, whose lengths are known to lie within the file. The CRC
 * spares the padding, which must be zero: equal contents have one form only. */
static const char *data_fault(const section_header *h, const unsigned char *data) {
    uint32_t crc = tl_crc32(0, h, SECTION_CRC_SPAN);
    if (tl_crc32(crc, data, (size_t)h->bytes) != h->crc) return "its CRC-32 is wrong";
    for (unsigned i = 0; i < record_padding(h->bytes); i++)
        if (data[h->bytes + i] != 0) return "its padding is not zero";
    return NULL;
}

/* Parses section i, which starts at *at, and moves *at behind it. */
static tl_status parse_section(tl_record *r, int i, size_t *at, size_t size) {
    TL_NEED(size - *at >= sizeof(section_header), TL_EFORMAT,
            "%s: the header of section %d of %d ends beyond the file; " DAMAGED, r->path, i + 1,
            r->sections);
    section_header h;
    const unsigned char *bytes = r->bytes;
    memcpy(&h, bytes + *at, sizeof h);
    *at += sizeof h;
    /* Lengths before the CRC: it is computed over as many bytes as the header claims. */
    const char *fault = header_fault(&h, size - *at);
    if (fault == NULL) fault = data_fault(&h, bytes + *at);
    TL_NEED(fault == NULL, TL_EFORMAT, "%s: section %d of %d (\"%.*s\"): %s; " DAMAGED, r->path,
            i + 1, r->sections, TL_SECTION_NAME - 1, h.name, fault);

    tl_section *s = &r->section[i];
    memcpy(s->name, h.name, sizeof s->name);
    memcpy(s->dim, h.dim, sizeof s->dim);
    s->dtype = (tl_dtype)h.dtype;
    s->ndim = (int)h.ndim;
    s->bytes = h.bytes;
    s->data = bytes + *at;
    *at += (size_t)h.bytes + record_padding(h.bytes);
    return TL_OK;
}

/* Order of two elements of an array of names, for qsort. */
static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that a crafted file of a million sections cannot take a million squared comparisons.
 */
static tl_status check_unique(const tl_record *r) {
    const char **name = malloc(((size_t)r->sections + 1) * sizeof *name);
    TL_NEED(name != NULL, TL_ENOMEM, "out of host memory for %d section names", r->sections);
    for (int i = 0; i < r->sections; i++) name[i] = r->section[i].name;
    qsort(name, (size_t)r->sections, sizeof *name, compare_names);
    const char *twice = NULL;
    for (int i = 1; i < r->sections; i++)
        if (strcmp(name[i - 1], name[i]) == 0) twice = name[i];
    free(name);
    TL_NEED(twice == NULL, TL_EFORMAT, "%s: two sections are called \"%s\"; " DAMAGED, r->path,
            twice);
    return TL_OK;
}

/* Fills r from the file; on failure the caller frees what r holds by then. */
static tl_status parse(tl_record *r, const char *path) {
    size_t size = 0, at = sizeof(file_header);
    r->path = strdup(path);
    TL_NEED(r->path != NULL, TL_ENOMEM, "out of host memory for reading %s", path);
    TL_TRY(load_file(r, &size, path));
    TL_TRY(parse_header(r, size));
    for (int i = 0; i < r->sections; i++) TL_TRY(parse_section(r, i, &at, size));
    TL_NEED(at == size, TL_EFORMAT, "%s: %zu bytes follow the last section; " DAMAGED, path,
            size - at);
    return check_unique(r);
}

tl_status tl_record_read(tl_record **record, const char *path) {
    *record = NULL;
    tl_record *r = calloc(1, sizeof *r);
    TL_NEED(r != NULL, TL_ENOMEM, "out of host memory for reading %s", path);
    tl_status status = parse(r, path);
    if (status != TL_OK)
        tl_record_free(r);
    else
        *record = r;
    return status;
}

tl_status tl_record_find(const tl_record *r, const tl_section **section, const char *name,
                         tl_dtype dtype, uint64_t elements) {
    *section = NULL;
    int i = 0;
    while (i < r->sections && strcmp(r->section[i].name, name) != 0) i++;
    TL_NEED(i < r->sections, TL_EFORMAT, "%s has no section \"%s\"", r->path, name);
    const tl_section *s = &r->section[i];
    TL_NEED(s->dtype == dtype, TL_EFORMAT, "%s: section \"%s\" holds %s, %s wanted", r->path, name,
            tl_dtype_name(s->dtype), tl_dtype_name(dtype));
    /* dtype is known and bytes is a multiple of its size: parse_section saw to both. */
    uint64_t found = s->bytes / tl_dtype_bytes(dtype);
    TL_NEED(found == elements, TL_EFORMAT, "%s: section \"%s\" holds %llu elements, %llu wanted",
            r->path, name, (unsigned long long)found, (unsigned long long)elements);
    *section = s;
    return TL_OK;
}
