/* hostcuda/volume.h: what a copy of three dimensions is told by; usable from C. */
#ifndef HOSTCUDA_VOLUME_H
#define HOSTCUDA_VOLUME_H

#include "hostcuda/texture.h"

typedef struct cudaExtent {
    size_t width, height, depth; /* width: bytes, of an array elements */
} cudaExtent;
typedef struct cudaPos {
    size_t x, y, z; /* x as cudaExtent's width */
} cudaPos;
typedef struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize; /* bytes of a row, bytes of it that are used, rows of a slice */
} cudaPitchedPtr;

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    struct cudaExtent e = {width, height, depth};
    return e;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    struct cudaPos p = {x, y, z};
    return p;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *ptr, size_t pitch, size_t xsize,
                                                        size_t ysize) {
    struct cudaPitchedPtr p = {ptr, pitch, xsize, ysize};
    return p;
}

#endif
