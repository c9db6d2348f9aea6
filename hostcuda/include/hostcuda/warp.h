/* hostcuda/warp.h: shuffles and votes. The lanes of the mask meet in the runtime (runtime/warp.c).
 */
#ifndef HOSTCUDA_WARP_H
#define HOSTCUDA_WARP_H

#include <string.h>

#include "hostcuda/kernel.h"

namespace hc {

template <class T>
T shuffle(hc_warp_kind kind, unsigned mask, T value, int lane, int width, HC_HERE) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>,
                  "a shuffle moves values of 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = hc_warp(kind, mask, bits, lane, width, hc_file, hc_line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline unsigned ballot(unsigned mask, int predicate, HC_HERE) {
    return (unsigned)hc_warp(HC_BALLOT, mask, predicate != 0, 0, 32, hc_file, hc_line);
}

template <class T> unsigned match_any(unsigned mask, T value, HC_HERE) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return (unsigned)hc_warp(HC_MATCH_ANY, mask, bits, 0, 32, hc_file, hc_line);
}

template <class T, class F> T reduce(unsigned mask, T value, F combine, HC_HERE) {
    T result = value;
    bool first = true;
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        T other = shuffle(HC_SHFL, mask, value, lane, 32, hc_file, hc_line);
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}

} // namespace hc

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, HC_HERE) {
    return hc::shuffle(HC_SHFL, mask, value, lane, width, hc_file, hc_line);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, HC_HERE) {
    return hc::shuffle(HC_SHFL_UP, mask, value, (int)delta, width, hc_file, hc_line);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, HC_HERE) {
    return hc::shuffle(HC_SHFL_DOWN, mask, value, (int)delta, width, hc_file, hc_line);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, HC_HERE) {
    return hc::shuffle(HC_SHFL_XOR, mask, value, lane_mask, width, hc_file, hc_line);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, HC_HERE) {
    return hc::ballot(mask, predicate, hc_file, hc_line);
}
static inline int __any_sync(unsigned mask, int predicate, HC_HERE) {
    return hc::ballot(mask, predicate, hc_file, hc_line) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, HC_HERE) {
    return hc::ballot(mask, !predicate, hc_file, hc_line) == 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, HC_HERE) {
    hc_warp(HC_SYNCWARP, mask, 0, 0, 32, hc_file, hc_line);
}
static inline unsigned __activemask(HC_HERE) {
    return (unsigned)hc_warp(HC_ACTIVEMASK, 0, 0, 0, 32, hc_file, hc_line);
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T value, HC_HERE) {
    return hc::match_any(mask, value, hc_file, hc_line);
}
template <class T>
static inline unsigned __match_all_sync(unsigned mask, T value, int *all, HC_HERE) {
    unsigned same = hc::match_any(mask, value, hc_file, hc_line);
    *all = (same & mask) == same && __builtin_popcount(same) == __builtin_popcount(mask);
    return *all ? same : 0;
}
template <class T> static inline T __reduce_add_sync(unsigned mask, T value, HC_HERE) {
    return hc::reduce(
        mask, value, [](T a, T b) { return a + b; }, hc_file, hc_line);
}
template <class T> static inline T __reduce_max_sync(unsigned mask, T value, HC_HERE) {
    return hc::reduce(
        mask, value, [](T a, T b) { return a > b ? a : b; }, hc_file, hc_line);
}
template <class T> static inline T __reduce_min_sync(unsigned mask, T value, HC_HERE) {
    return hc::reduce(
        mask, value, [](T a, T b) { return a < b ? a : b; }, hc_file, hc_line);
}

#endif
