/* texture.c: arrays, texture objects, and what a kernel reads through them.
 *
 * An array is device memory row by row. Filtering weighs with 8 bits of fraction, as a GPU's does.
 * What is read here no checker of CHECK=1 sees, but for memory that was freed. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cudaArray {
    struct cudaArray *made_before; /* kept when it is freed: a later use is seen */
    char *data;
    struct cudaChannelFormatDesc desc;
    size_t width, height, depth, row; /* texels, rows, slices; bytes of a row */
};

static struct cudaArray *arrays;

typedef struct texture {
    const char *data;
    struct cudaChannelFormatDesc desc;
    size_t width, height, row;
    struct cudaTextureDesc how;
    bool linear, destroyed;
} texture;
static texture **textures; /* an object is its number, from 1 on */
static size_t texture_count;

static int elements(const struct cudaChannelFormatDesc *d) {
    return (d->x > 0) + (d->y > 0) + (d->z > 0) + (d->w > 0);
}

/* 1, 2 or 4 elements of 8, 16 or 32 bits; floats of 32. */
static bool is_known(const struct cudaChannelFormatDesc *d) {
    int n = elements(d), bits[] = {d->x, d->y, d->z, d->w};
    bool fits = d->x == 32 || ((d->x == 8 || d->x == 16) && d->f != cudaChannelFormatKindFloat);
    for (int i = 0; i < 4; i++) fits &= bits[i] == (i < n ? d->x : 0);
    return fits && (n == 1 || n == 2 || n == 4) && d->f < cudaChannelFormatKindNone;
}

static size_t texel_bytes(const struct cudaChannelFormatDesc *d) {
    return (size_t)(elements(d) * d->x / 8);
}

static cudaError_t refuse(const char *what, const char *likely, hc_site at) {
    hc_complain("texture", at.file, at.line, likely, "%s", what);
    return hc_fail(cudaErrorInvalidValue);
}

static const char formats[] = "1, 2 or 4 elements of 8, 16 or 32 bits: "
                              "cudaCreateChannelDesc<float>() and its kin";

cudaError_t hc_MallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                           size_t width, size_t height, unsigned flags, const char *file,
                           int line) {
    hc_site at = {file, line};
    if (!array || !desc || width == 0) return hc_fail(cudaErrorInvalidValue);
    if (!is_known(desc)) return refuse("an array of these elements is not supported", formats, at);
    if (flags) return refuse("an array with these flags is not supported", "use 0", at);
    size_t row = width * texel_bytes(desc), rows = height ? height : 1;
    void *data;
    cudaError_t error = hc_MallocBytes(&data, row * rows, file, line);
    if (error) return error;
    hc_check_host_call(array, sizeof *array, true, at);
    *array = malloc(sizeof **array);
    if (!*array) abort();
    **array = (struct cudaArray){arrays, data, *desc, width, rows, 1, row};
    arrays = *array;
    return cudaSuccess;
}

cudaError_t hc_FreeArray(cudaArray_t array, const char *file, int line) {
    if (!array) return cudaSuccess;
    return hc_Free(array->data, file, line); /* a second time is its second time, too */
}

size_t hc_array_element(cudaArray_const_t array) { return array ? texel_bytes(&array->desc) : 0; }

char *hc_array_place(cudaArray_const_t array, struct cudaPos from, struct cudaExtent part,
                     size_t *row, size_t *slice, hc_site at) {
    if (!array) return NULL;
    *row = array->row, *slice = array->row * array->height;
    if (from.x + part.width <= array->row && from.y + part.height <= array->height &&
        from.z + part.depth <= array->depth)
        return array->data + from.z * *slice + from.y * array->row + from.x;
    hc_complain(
        "copy-size", at.file, at.line,
        "offset and width of a copy to an array are in bytes (of cudaMemcpy3D in elements), the "
        "height is in rows",
        "%zu bytes of %zu rows of %zu slices from byte %zu of row %zu of slice %zu on, of an array "
        "of %zu bytes by %zu rows by %zu slices",
        part.width, part.height, part.depth, from.x, from.y, from.z, array->row, array->height,
        array->depth);
    return NULL;
}

/* A rectangle of an array's first slice. */
static char *rectangle(cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height,
                       hc_site at) {
    size_t row, slice;
    return hc_array_place(array, (struct cudaPos){x, y, 0}, (struct cudaExtent){width, height, 1},
                          &row, &slice, at);
}

cudaError_t hc_Memcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind,
                               const char *file, int line) {
    char *place = rectangle(to, x, y, width, height, (hc_site){file, line});
    if (!place) return hc_fail(cudaErrorInvalidValue);
    return hc_Memcpy2D(place, to->row, from, pitch, width, height, kind, file, line);
}

cudaError_t hc_Memcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                    size_t pitch, size_t width, size_t height,
                                    enum cudaMemcpyKind kind, cudaStream_t stream, const char *file,
                                    int line) {
    char *place = rectangle(to, x, y, width, height, (hc_site){file, line});
    if (!place) return hc_fail(cudaErrorInvalidValue);
    return hc_Memcpy2DAsync(place, to->row, from, pitch, width, height, kind, stream, file, line);
}

cudaError_t hc_Memcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                 size_t width, size_t height, enum cudaMemcpyKind kind,
                                 const char *file, int line) {
    char *place = rectangle(from, x, y, width, height, (hc_site){file, line});
    if (!place) return hc_fail(cudaErrorInvalidValue);
    return hc_Memcpy2D(to, pitch, place, from->row, width, height, kind, file, line);
}

/* Whole rows, or a part of one: the way that came before. */
cudaError_t hc_MemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                             enum cudaMemcpyKind kind, const char *file, int line) {
    size_t width = to && bytes > to->row ? to->row : bytes, height = width ? bytes / width : 0;
    if (!to || (height > 1 && (x || bytes % width))) return hc_fail(cudaErrorInvalidValue);
    return hc_Memcpy2DToArray(to, x, y, from, width, width, height, kind, file, line);
}

/* ---- texture objects ---- */

static bool describe(texture *t, const struct cudaResourceDesc *r) {
    switch (r->resType) {
    case cudaResourceTypeArray: {
        const struct cudaArray *a = r->res.array.array;
        if (!a) return false;
        t->data = a->data, t->desc = a->desc;
        t->width = a->width, t->height = a->height, t->row = a->row;
        return true;
    }
    case cudaResourceTypeLinear:
        t->data = r->res.linear.devPtr, t->desc = r->res.linear.desc, t->linear = true;
        if (!is_known(&t->desc)) return true; /* which is told later */
        t->width = r->res.linear.sizeInBytes / texel_bytes(&t->desc), t->height = 1;
        return true;
    case cudaResourceTypePitch2D:
        t->data = r->res.pitch2D.devPtr, t->desc = r->res.pitch2D.desc;
        t->width = r->res.pitch2D.width, t->height = r->res.pitch2D.height;
        t->row = r->res.pitch2D.pitchInBytes;
        return true;
    default:
        return false;
    }
}

cudaError_t hc_CreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *from,
                                   const struct cudaTextureDesc *how,
                                   const struct cudaResourceViewDesc *view, const char *file,
                                   int line) {
    hc_site at = {file, line};
    texture t = {0};
    if (!object || !from || !how) return hc_fail(cudaErrorInvalidValue);
    if (view || !describe(&t, from))
        return refuse("a texture of this kind is not supported",
                      "of an array, of pitched or of linear memory, without a view", at);
    t.how = *how;
    if (!is_known(&t.desc))
        return refuse("a texture of these elements is not supported", formats, at);
    bool gives_floats =
        t.desc.f == cudaChannelFormatKindFloat || how->readMode == cudaReadModeNormalizedFloat;
    if (how->filterMode == cudaFilterModeLinear && !gives_floats)
        return refuse("linear filtering of integers",
                      "readMode = cudaReadModeNormalizedFloat, or cudaFilterModePoint", at);
    if (how->sRGB || (t.desc.x == 32 && how->readMode == cudaReadModeNormalizedFloat &&
                      t.desc.f != cudaChannelFormatKindFloat))
        return refuse("this way of reading is not supported",
                      "without sRGB; integers of 8 or 16 bits become floats, those of 32 do not",
                      at);
    hc_enter();
    size_t bytes = t.linear ? t.width * texel_bytes(&t.desc)
                            : (t.height - 1) * t.row + t.width * texel_bytes(&t.desc);
    cudaError_t error = hc_check_device(t.data, bytes, "texture", file, line);
    if (!error) {
        textures = realloc(textures, (texture_count + 1) * sizeof *textures);
        texture *kept = malloc(sizeof *kept);
        if (!textures || !kept) abort();
        *kept = t;
        textures[texture_count++] = kept;
        hc_check_host_call(object, sizeof *object, true, at);
        *object = texture_count;
    }
    hc_leave();
    return error ? hc_fail(error) : cudaSuccess;
}

cudaError_t hc_DestroyTextureObject(cudaTextureObject_t object, const char *file, int line) {
    if (object == 0) return cudaSuccess;
    if (object > texture_count || textures[object - 1]->destroyed) {
        hc_complain("bad-handle", file, line, "it was destroyed before, or never created",
                    "no such texture object");
        return hc_fail(cudaErrorInvalidValue);
    }
    hc_DeviceSynchronize(file, line); /* kernels that read it end first */
    textures[object - 1]->destroyed = true;
    return cudaSuccess;
}

/* ---- in a kernel ---- */

static __attribute__((noreturn, cold)) void fail(const char *kind, const char *what,
                                                 const char *likely, hc_site at) {
    hc_text t;
    hc_report_begin(&t, kind, at.file, at.line);
    hc_add(&t, "%s", what);
    hc_report_thread(&t);
    hc_report_likely(&t, likely);
    hc_report_end(&t);
    hc_kernel_fail(cudaErrorLaunchFailure);
}

static double element(const texture *t, const char *p, int i) {
    int bits = t->desc.x;
    bool is_signed = t->desc.f == cudaChannelFormatKindSigned;
    double value, most = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
    p += i * bits / 8;
    if (t->desc.f == cudaChannelFormatKindFloat) {
        float x;
        memcpy(&x, p, sizeof x);
        return x;
    }
    if (bits == 8)
        value = is_signed ? *(const int8_t *)p : *(const uint8_t *)p;
    else if (bits == 16)
        value = is_signed ? *(const int16_t *)p : *(const uint16_t *)p;
    else
        value = is_signed ? (double)*(const int32_t *)p : (double)*(const uint32_t *)p;
    if (t->how.readMode == cudaReadModeElementType) return value;
    value /= most;
    return value < -1 ? -1 : value; /* -128 is no less than -127 */
}

/* Which texel of n an index stands for; -1: the border's colour. */
static long along(long i, long n, enum cudaTextureAddressMode mode) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case cudaAddressModeBorder:
        return -1;
    case cudaAddressModeWrap:
        return (i % n + n) % n;
    case cudaAddressModeMirror:
        i = (i % (2 * n) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

static enum cudaTextureAddressMode mode_of(const texture *t, int dimension) {
    enum cudaTextureAddressMode mode = t->how.addressMode[dimension];
    bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
    return repeats && !t->how.normalizedCoords ? cudaAddressModeClamp : mode;
}

static void texel_at(const texture *t, double x, double y, double *out) {
    long column = along((long)x, (long)t->width, mode_of(t, 0));
    long row = along((long)y, (long)t->height, mode_of(t, 1));
    const char *p = column < 0 || row < 0
                        ? NULL
                        : t->data + (size_t)row * t->row + (size_t)column * texel_bytes(&t->desc);
    for (int i = 0; i < elements(&t->desc); i++)
        out[i] = p ? element(t, p, i) : t->how.borderColor[i];
}

static double inside(double x) { return x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x == x ? x : 0; }

static void filtered(const texture *t, int dimensions, double x, double y, double *out) {
    double left = floor(x - 0.5), top = dimensions > 1 ? floor(y - 0.5) : 0, part[4];
    double across = nearbyint((x - 0.5 - left) * 256) / 256;
    double down = dimensions > 1 ? nearbyint((y - 0.5 - top) * 256) / 256 : 0;
    for (int i = 0; i < 4; i++) {
        double weight = (i % 2 ? across : 1 - across) * (i / 2 ? down : 1 - down);
        if (weight == 0) continue;
        texel_at(t, left + i % 2, top + i / 2, part);
        for (int k = 0; k < elements(&t->desc); k++) out[k] += weight * part[k];
    }
}

void hc_texture_read(cudaTextureObject_t object, int dimensions, double x, double y,
                     hc_texel_type type, hc_texel *texel, const char *file, int line) {
    hc_site at = {file, line};
    if (object == 0 || object > texture_count || textures[object - 1]->destroyed)
        fail("bad-handle", "no such texture object",
             "it was destroyed before the kernel had run, or never created", at);
    const texture *t = textures[object - 1];
    bool floats = t->how.readMode == cudaReadModeNormalizedFloat;
    enum cudaChannelFormatKind kind = floats ? cudaChannelFormatKindFloat : t->desc.f;
    if (type.kind != kind || type.bits != (floats ? 32 : t->desc.x) ||
        type.count != elements(&t->desc))
        fail("texture", "the texture has elements of another type",
             "tex2D<T> wants the type of cudaCreateChannelDesc<T>(), and float (float2, float4) "
             "with "
             "cudaReadModeNormalizedFloat",
             at);
    if ((dimensions == 0) != t->linear)
        fail("texture",
             t->linear ? "a texture of linear memory is read by coordinates"
                       : "a texture of an array is read by tex1Dfetch",
             "tex1Dfetch reads linear memory, tex1D and tex2D read arrays and pitched memory", at);
    memset(texel, 0, sizeof *texel);
    if (t->linear) { /* (past the end it is 0, as on a GPU) */
        for (int i = 0; i < type.count && x >= 0 && x < (double)t->width; i++)
            texel->value[i] = element(t, t->data + (size_t)x * texel_bytes(&t->desc), i);
        return;
    }
    if (t->how.normalizedCoords) x *= (double)t->width, y *= (double)t->height;
    x = inside(x), y = dimensions > 1 ? inside(y) : 0;
    if (t->how.filterMode == cudaFilterModeLinear)
        filtered(t, dimensions, x, y, texel->value);
    else
        texel_at(t, floor(x), floor(y), texel->value);
}
