/* crc32.c: CRC-32 with zlib's polynomial (tl/record.h), eight bytes a step. */
#include "tl/record.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "record files are little-endian; this code reads words straight from memory"
#endif

enum { SLICES = 8 };

/* slice[0][b] is the remainder of byte b; slice[k][b] that of byte b followed by k zero bytes, so
 * that eight look-ups, independent of each other, replace a chain of eight ("slicing-by-8":
 * Kounavis, Berry, "A Systematic Approach to Building High Performance Software-Based CRC
 * Generators", 2005). */
static void make_slices(uint32_t slice[SLICES][256]) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (UINT32_C(0xEDB88320) & -(rest & 1));
        slice[0][byte] = rest;
    }
    for (int k = 1; k < SLICES; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = slice[k - 1][byte];
            slice[k][byte] = before >> 8 ^ slice[0][before & 255];
        }
}

/* The tables are made anew in each call (a microsecond or two): no global state, nothing to lock.
 */
uint32_t tl_crc32(uint32_t crc, const void *data, size_t bytes) {
    uint32_t slice[SLICES][256];
    make_slices(slice);
    const unsigned char *at = data;
    uint32_t rest = ~crc;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word ^= rest;
        rest = 0;
        for (int k = 0; k < SLICES; k++) rest ^= slice[SLICES - 1 - k][word >> (8 * k) & 255];
    }
    for (; bytes > 0; bytes--, at++) rest = rest >> 8 ^ slice[0][(rest ^ *at) & 255];
    return ~rest;
}
