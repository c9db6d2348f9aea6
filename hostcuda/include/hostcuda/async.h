/* hostcuda/async.h: copies that a GPU carries out beside the kernel. Here they are done when they
 * are called, each thread its part, so that the checkers see whose bytes they are; whoever waits
 * finds them done. */
#ifndef HOSTCUDA_ASYNC_H
#define HOSTCUDA_ASYNC_H

#include "hostcuda/hostcuda.h"

namespace hc {

/* What one access moves: as much as the alignment allows, up to 16 bytes. */
template <size_t Bytes> struct chunk { typedef char type __attribute__((may_alias)); };
template <> struct chunk<4> { typedef int type __attribute__((may_alias)); };
template <> struct chunk<8> { typedef int type __attribute__((vector_size(8), may_alias)); };
template <> struct chunk<16> { typedef int type __attribute__((vector_size(16), may_alias)); };
constexpr size_t chunk_of(size_t alignment) {
    return alignment >= 16 ? 16 : alignment >= 8 ? 8 : alignment >= 4 ? 4 : 1;
}
template <class T> constexpr size_t alignment_of() {
    if constexpr (std::is_void_v<T>)
        return 1;
    else
        return alignof(T);
}

/* The part of thread `rank` of `threads`; the bytes behind the last whole chunk are the first's. */
template <size_t Alignment>
__forceinline__ void copy_part(void *to, const void *from, size_t bytes, size_t rank = 0,
                               size_t threads = 1) {
    typedef typename chunk<chunk_of(Alignment)>::type part;
    size_t parts = bytes / sizeof(part);
    for (size_t i = rank; i < parts; i += threads)
        static_cast<part *>(to)[i] = static_cast<const part *>(from)[i];
    for (size_t i = parts * sizeof(part); rank == 0 && i < bytes; i++)
        static_cast<char *>(to)[i] = static_cast<const char *>(from)[i];
}

} // namespace hc

namespace cuda {

/* A number of bytes at addresses that are multiples of Alignment. */
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;
    explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr operator size_t() const { return value; }
};

} // namespace cuda

namespace hc {

template <class Shape> struct promised { static constexpr size_t alignment = 1; };
template <size_t Alignment> struct promised<cuda::aligned_size_t<Alignment>> {
    static constexpr size_t alignment = Alignment;
};

/* As much as both types and the caller promise. */
template <class Shape, class To, class From> constexpr size_t alignment_for() {
    constexpr size_t to = alignment_of<To>(), from = alignment_of<From>();
    constexpr size_t both = to < from ? to : from;
    return promised<Shape>::alignment > both ? promised<Shape>::alignment : both;
}

} // namespace hc
#endif
