/* hostcuda/heap.h: malloc, free, new and delete in a kernel, as the rewriter writes them:
 *
 *     malloc(bytes), free(p)     hc_heap_malloc(bytes), hc_heap_free(p)
 *     new T[n], new T(1)         new (::hc::heap{__FILE__, __LINE__}) T[n], …
 *     delete p                   ::hc::deleted{__FILE__, __LINE__}->*p
 *     delete[] p                 ::hc::deleted_array{…}->*p */
#ifndef HOSTCUDA_HEAP_H
#define HOSTCUDA_HEAP_H

#include <new>

#include "hostcuda/kernel.h"

#define hc_heap_malloc(bytes) hc_heap_allocate(bytes, __FILE__, __LINE__)
#define hc_heap_free(p)       hc_heap_release(p, __FILE__, __LINE__)

namespace hc {
struct heap {
    const char *file;
    int line;
};
struct deleted : heap {};
struct deleted_array : heap {};

/* Where the object begins of which *p is a part. */
template <class T> void *whole_object(T *p) {
    if constexpr (std::is_polymorphic_v<T>)
        return dynamic_cast<void *>(p);
    else
        return const_cast<void *>(static_cast<const volatile void *>(p));
}
template <class T> void operator->*(deleted at, T *p) {
    if (!p) return;
    void *start = whole_object(p);
    if constexpr (!std::is_void_v<T>) p->~T();
    hc_heap_release(start, at.file, at.line);
}
/* (a compiler notes the number of elements before those that have something to do at their end) */
template <class T> void operator->*(deleted_array at, T *p) {
    if (!p) return;
    char *start = reinterpret_cast<char *>(const_cast<std::remove_cv_t<T> *>(p));
    if constexpr (!std::is_trivially_destructible_v<T>) {
        size_t count, before = alignof(T) > sizeof count ? alignof(T) : sizeof count;
        memcpy(&count, start - sizeof count, sizeof count);
        while (count-- > 0) p[count].~T();
        start -= before;
    }
    hc_heap_release(start, at.file, at.line);
}
} // namespace hc

/* (not noexcept would mean: never NULL) */
inline void *operator new(size_t bytes, hc::heap at) noexcept {
    return hc_heap_allocate(bytes, at.file, at.line);
}
inline void *operator new[](size_t bytes, hc::heap at) noexcept {
    return hc_heap_allocate(bytes, at.file, at.line);
}
inline void operator delete(void *, hc::heap) noexcept {}
inline void operator delete[](void *, hc::heap) noexcept {}

#endif
