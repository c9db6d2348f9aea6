/* hostcuda/atomics.h: atomic functions. Blocks run on several workers, so these are real atomics.
 */
#ifndef HOSTCUDA_ATOMICS_H
#define HOSTCUDA_ATOMICS_H

#include <string.h>

#include "hostcuda/kernel.h"

namespace hc {

/* *p = combine(*p) in one step; returns the old value. Works for floats through their bits. All
 * here is inlined, so that the access's address in the code names the student's line. */
template <class T, class F> __forceinline__ T atomic_update(T *p, F combine) {
    using bits = std::conditional_t<sizeof(T) == 8, unsigned long long,
                                    std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>>;
    static_assert(sizeof(T) == sizeof(bits));
    bits *at = reinterpret_cast<bits *>(p), old = __atomic_load_n(at, __ATOMIC_RELAXED), wanted;
    T value;
    do {
        memcpy(&value, &old, sizeof value);
        T next = combine(value);
        memcpy(&wanted, &next, sizeof wanted);
    } while (
        !__atomic_compare_exchange_n(at, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    hc_atomic_touch(p, old != wanted);
    return value;
}

/* For the second argument: any type that converts to the first's, as in CUDA's overloads. */
template <class T> struct same { using type = T; };
template <class T> using same_t = typename same<T>::type;

} // namespace hc

#define HC_ATOMIC(name, expression)                                                                \
    template <class T> static __forceinline__ T name(T *p, hc::same_t<T> v) {                      \
        return hc::atomic_update(p, [v](T old) -> T { return expression; });                       \
    }                                                                                              \
    template <class T> static __forceinline__ T name##_block(T *p, hc::same_t<T> v) {              \
        return name(p, v);                                                                         \
    }                                                                                              \
    template <class T> static __forceinline__ T name##_system(T *p, hc::same_t<T> v) {             \
        return name(p, v);                                                                         \
    }

HC_ATOMIC(atomicAdd, (T)(old + v))
HC_ATOMIC(atomicSub, (T)(old - v))
HC_ATOMIC(atomicMax, old < v ? v : old)
HC_ATOMIC(atomicMin, v < old ? v : old)
HC_ATOMIC(atomicExch, ((void)old, v))
HC_ATOMIC(atomicAnd, (T)(old &v))
HC_ATOMIC(atomicOr, (T)(old | v))
HC_ATOMIC(atomicXor, (T)(old ^ v))
HC_ATOMIC(atomicInc, old >= v ? (T)0 : (T)(old + 1))
HC_ATOMIC(atomicDec, old == 0 || old > v ? v : (T)(old - 1))
#undef HC_ATOMIC

template <class T>
static __forceinline__ T atomicCAS(T *p, hc::same_t<T> expected, hc::same_t<T> wanted) {
    static_assert(std::is_integral_v<T>, "atomicCAS takes integers; see __float_as_int");
    bool done = __atomic_compare_exchange_n(p, &expected, wanted, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST);
    hc_atomic_touch(p, done && expected != wanted);
    return expected;
}

template <class T>
static __forceinline__ T atomicCAS_block(T *p, hc::same_t<T> expected, hc::same_t<T> wanted) {
    return atomicCAS(p, expected, wanted);
}
template <class T>
static __forceinline__ T atomicCAS_system(T *p, hc::same_t<T> expected, hc::same_t<T> wanted) {
    return atomicCAS(p, expected, wanted);
}

#endif
