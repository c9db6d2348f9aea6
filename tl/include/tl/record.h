/* tl/record.h: one file format for everything binary that tl writes: checkpoints, plans, weights.
 *
 * All numbers are little-endian. The file is a header and a row of sections:
 *   header   8 bytes "TLRECORD", u32 version (1), u32 number of sections
 *   section  name[48] (zero-padded), u32 dtype, u32 ndim, u64 dim[4] (each >= 1; unused: 1),
 *            u64 bytes of data, u32 CRC-32 (zlib's polynomial) over these 96 bytes and the data,
 *            u32 zero: 104 bytes; then the data, padded with zeros to a multiple of 8 bytes
 * The file ends after the last section. A writer makes PATH.part and renames it when all is on
 * disk, so PATH is either the old file or the whole new one. Equal contents give equal files. */
#ifndef TL_RECORD_H
#define TL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "tl/real.h"
#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_RECORD_VERSION = 1, TL_SECTION_NAME = 48, TL_SECTION_DIMS = 4 };

typedef enum tl_dtype { TL_U8 = 1, TL_I32, TL_U32, TL_U64, TL_F32, TL_F64 } tl_dtype;

#ifdef TL_REAL_DOUBLE
#define TL_DTYPE_REAL TL_F64
#else
#define TL_DTYPE_REAL TL_F32
#endif

typedef struct tl_section {
    char name[TL_SECTION_NAME]; /* ends with a zero byte; unique within the file */
    tl_dtype dtype;
    int ndim; /* 1 .. 4 */
    uint64_t dim[TL_SECTION_DIMS];
    uint64_t bytes;
    const void *data; /* 8-byte aligned, owned by the record */
} tl_section;

size_t tl_dtype_bytes(tl_dtype dtype); /* 0 for an unknown one */
const char *tl_dtype_name(tl_dtype dtype);
uint32_t tl_crc32(uint32_t crc, const void *data, size_t bytes); /* start with 0 */

/* Writing: open, add …, commit. TL_EIO names path and reason (no folder, read-only, disk full).
 * After any failure, and instead of commit, call discard: it removes PATH.part and leaves PATH as
 * it was. */
typedef struct tl_writer tl_writer;
tl_status tl_writer_open(tl_writer **w, const char *path);
tl_status tl_writer_add(tl_writer *w, const char *name, tl_dtype dtype, int ndim,
                        const uint64_t dim[], const void *data);
tl_status tl_writer_commit(tl_writer **w); /* fsync, rename, fsync of the folder; *w becomes NULL */
void tl_writer_discard(tl_writer **w);     /* *w becomes NULL; NULL is allowed */

/* Reading: the whole file at once, every length and CRC checked before anything is returned.
 * TL_EIO: cannot be read; TL_EFORMAT: damaged, and where. */
typedef struct tl_record {
    int sections;
    tl_section *section;
    void *bytes; /* the file's content */
    char *path;  /* as given, for messages */
} tl_record;
tl_status tl_record_read(tl_record **r, const char *path);
void tl_record_free(tl_record *r); /* NULL is allowed */

/* The section of that name, dtype and element count, else TL_EFORMAT naming what differs. */
tl_status tl_record_find(const tl_record *r, const tl_section **s, const char *name, tl_dtype dtype,
                         uint64_t elements);

#ifdef __cplusplus
}
#endif
#endif
