/* volume.c: copies of three dimensions, slice by slice. */
#include "internal.h"

/* One side: where it begins, bytes from row to row and from slice to slice. */
typedef struct side {
    char *start;
    size_t row, slice;
} side;

static bool side_of(const struct cudaPitchedPtr *p, cudaArray_t array, struct cudaPos at,
                    struct cudaExtent bytes, side *out, hc_site site) {
    if (array && p->ptr) return false;
    if (array) {
        out->start = hc_array_place(array, at, bytes, &out->row, &out->slice, site);
        return out->start != NULL;
    }
    out->row = p->pitch, out->slice = p->pitch * p->ysize;
    out->start = (char *)p->ptr + at.z * out->slice + at.y * out->row + at.x;
    return p->ptr && (bytes.depth <= 1 || p->ysize >= bytes.height);
}

/* (x and width of a copy to or from an array are in its elements, of others in bytes) */
static cudaError_t copy(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool wait,
                        hc_site at) {
    if (!p) return hc_fail(cudaErrorInvalidValue);
    size_t to_unit = hc_array_element(p->dstArray), from_unit = hc_array_element(p->srcArray);
    size_t unit = from_unit ? from_unit : to_unit ? to_unit : 1;
    struct cudaExtent bytes = {p->extent.width * unit, p->extent.height, p->extent.depth};
    struct cudaPos to_at = p->dstPos, from_at = p->srcPos;
    to_at.x *= to_unit ? to_unit : 1, from_at.x *= from_unit ? from_unit : 1;
    side to, from;
    if (bytes.width == 0 || bytes.height == 0 || bytes.depth == 0) return cudaSuccess;
    if (!side_of(&p->dstPtr, p->dstArray, to_at, bytes, &to, at) ||
        !side_of(&p->srcPtr, p->srcArray, from_at, bytes, &from, at))
        return hc_fail(cudaErrorInvalidValue);
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < bytes.depth && !error; z++) {
        char *a = to.start + z * to.slice, *b = from.start + z * from.slice;
        error = wait ? hc_Memcpy2D(a, to.row, b, from.row, bytes.width, bytes.height, p->kind,
                                   at.file, at.line)
                     : hc_Memcpy2DAsync(a, to.row, b, from.row, bytes.width, bytes.height, p->kind,
                                        stream, at.file, at.line);
    }
    return error;
}

cudaError_t hc_Memcpy3D(const struct cudaMemcpy3DParms *p, const char *file, int line) {
    return copy(p, NULL, true, (hc_site){file, line});
}

cudaError_t hc_Memcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream,
                             const char *file, int line) {
    return copy(p, stream, false, (hc_site){file, line});
}
