/* record_internal.h: the bytes of a record file as C structs, for its writer and its reader. */
#ifndef TL_RECORD_INTERNAL_H
#define TL_RECORD_INTERNAL_H

#include "tl/record.h"

#define RECORD_MAGIC "TLRECORD" /* 8 bytes, without the zero */

/* Read from and written to files as they are. Every member lies at a multiple of its size and both
 * sizes are multiples of 8, so the compiler adds no holes and all data stays 8-byte aligned. */
typedef struct file_header {
    char magic[8];
    uint32_t version, sections;
} file_header;

typedef struct section_header {
    char name[TL_SECTION_NAME];
    uint32_t dtype, ndim;
    uint64_t dim[TL_SECTION_DIMS];
    uint64_t bytes;
    uint32_t crc, zero;
} section_header;

enum { SECTION_CRC_SPAN = offsetof(section_header, crc) }; /* header bytes that the CRC covers */

_Static_assert(sizeof(file_header) == 16 && sizeof(section_header) == 104 && SECTION_CRC_SPAN == 96,
               "record structs differ from the format in tl/record.h");

/* Zero bytes after `bytes` of data, up to the next multiple of 8. */
static inline unsigned record_padding(uint64_t bytes) { return (unsigned)(-bytes & 7); }

/* *bytes = the bytes of an array with these dims, each >= 1; 0 if that does not fit 64 bits. */
static inline int record_data_bytes(uint64_t *bytes, tl_dtype dtype, unsigned ndim,
                                    const uint64_t dim[]) {
    *bytes = tl_dtype_bytes(dtype);
    for (unsigned i = 0; i < ndim; i++)
        if (dim[i] == 0 || __builtin_mul_overflow(*bytes, dim[i], bytes)) return 0;
    return 1;
}

#endif
