/* hostcuda/texture.h: arrays and texture objects of one and two dimensions; usable from C. */
#ifndef HOSTCUDA_TEXTURE_H
#define HOSTCUDA_TEXTURE_H

#include "hostcuda/abi.h"

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
};
enum cudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum { cudaArrayDefault = 0 };

struct cudaChannelFormatDesc {
    int x, y, z, w; /* bits */
    enum cudaChannelFormatKind f;
};
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;

struct cudaResourceDesc {
    enum cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            struct cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    enum cudaTextureAddressMode addressMode[3];
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct cudaResourceViewDesc;
typedef unsigned long long cudaTextureObject_t;

/* What a fetch gives, element by element: as numbers of one kind. */
typedef struct hc_texel {
    double value[4];
} hc_texel;
/* What the kernel asks for: bits of an element, how many, and their kind. */
typedef struct hc_texel_type {
    int bits, count;
    enum cudaChannelFormatKind kind;
} hc_texel_type;

#ifdef __cplusplus
extern "C" {
#endif
/* dimensions 0: element x of linear memory (tex1Dfetch). */
void hc_texture_read(cudaTextureObject_t texture, int dimensions, double x, double y,
                     hc_texel_type type, hc_texel *texel, const char *file, int line);
#ifdef __cplusplus
}

#include <type_traits>

namespace hc {

template <class E> constexpr hc_texel_type texel_type(int count) {
    return {(int)sizeof(E) * 8, count,
            std::is_floating_point_v<E> ? cudaChannelFormatKindFloat
            : std::is_signed_v<E>       ? cudaChannelFormatKindSigned
                                        : cudaChannelFormatKindUnsigned};
}

template <class T>
T texture_read(cudaTextureObject_t texture, int dimensions, double x, double y, const char *file,
               int line) {
    hc_texel texel;
    if constexpr (std::is_arithmetic_v<T>) {
        hc_texture_read(texture, dimensions, x, y, texel_type<T>(1), &texel, file, line);
        return (T)texel.value[0];
    } else {
        T all;
        typedef decltype(all.x) E;
        constexpr int count = sizeof(T) / sizeof(E);
        hc_texture_read(texture, dimensions, x, y, texel_type<E>(count), &texel, file, line);
        all.x = (E)texel.value[0];
        if constexpr (count > 1) all.y = (E)texel.value[1];
        if constexpr (count > 2) all.z = (E)texel.value[2], all.w = (E)texel.value[3];
        return all;
    }
}

} // namespace hc

#define HC_TEXTURE_HERE const char *hc_file = __builtin_FILE(), int hc_line = __builtin_LINE()
template <class T> static inline T tex1Dfetch(cudaTextureObject_t texture, int i, HC_TEXTURE_HERE) {
    return hc::texture_read<T>(texture, 0, i, 0, hc_file, hc_line);
}
template <class T> static inline T tex1D(cudaTextureObject_t texture, float x, HC_TEXTURE_HERE) {
    return hc::texture_read<T>(texture, 1, x, 0, hc_file, hc_line);
}
template <class T>
static inline T tex2D(cudaTextureObject_t texture, float x, float y, HC_TEXTURE_HERE) {
    return hc::texture_read<T>(texture, 2, x, y, hc_file, hc_line);
}
#undef HC_TEXTURE_HERE

template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc() {
    hc_texel_type t = {};
    if constexpr (std::is_arithmetic_v<T>)
        t = hc::texel_type<T>(1);
    else
        t = hc::texel_type<decltype(T::x)>(sizeof(T) / sizeof(T::x));
    int b = t.bits;
    return {b, t.count > 1 ? b : 0, t.count > 2 ? b : 0, t.count > 3 ? b : 0, t.kind};
}
static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                          cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
#endif
#endif
