/* cooperative_groups.h: groups of threads: the grid, the block, tiles of a warp, the lanes that are
 * here together. */
#ifndef HOSTCUDA_COOPERATIVE_GROUPS_H
#define HOSTCUDA_COOPERATIVE_GROUPS_H

#include "hostcuda/hostcuda.h"

namespace cooperative_groups {

struct thread_block {
    static void sync(HC_HERE) { hc_sync(hc_file, hc_line); }
    static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

struct grid_group {
    static void sync(HC_HERE) { hc_grid_barrier(hc_file, hc_line); }
    static bool is_valid() { return hc_grid_cooperative(); }
    static unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
};
inline grid_group this_grid() { return {}; }

/* Lanes of one warp, by their mask: what a tile and a coalesced group share. A lane's rank is its
 * place among them. */
struct hc_lanes {
    unsigned mask;
    static unsigned lane() { return thread_block::thread_rank() % 32; }
    /* (a tile's lanes are neighbours: nothing need be counted) */
    unsigned first() const { return (unsigned)__builtin_ctz(mask); }
    bool neighbours() const { return ((mask >> first()) & ((mask >> first()) + 1)) == 0; }
    unsigned thread_rank() const {
        return neighbours() ? lane() - first() : __popc(mask & ((1u << lane()) - 1));
    }
    unsigned size() const {
        return neighbours() ? 32 - (unsigned)__builtin_clz(mask >> first()) : __popc(mask);
    }
    unsigned num_threads() const { return size(); }
    int lane_of(unsigned rank) const { /* of a rank beyond the group: this lane's own */
        if (rank >= size()) return (int)lane();
        if (neighbours()) return (int)(first() + rank);
        unsigned rest = mask;
        while (rank-- > 0) rest &= rest - 1;
        return __ffs((int)rest) - 1;
    }
    unsigned packed(unsigned lanes) const { /* bit r for the lane of rank r */
        unsigned result = 0, rank = 0;
        for (unsigned rest = mask; rest; rest &= rest - 1, rank++)
            if (lanes & rest & (0u - rest)) result |= 1u << rank;
        return result;
    }
    void sync(HC_HERE) const { hc_warp(HC_SYNCWARP, mask, 0, 0, 32, hc_file, hc_line); }
    template <class T> T from(T value, unsigned rank, const char *file, int line) const {
        if constexpr (sizeof(T) <= 8)
            return hc::shuffle(HC_SHFL, mask, value, lane_of(rank), 32, file, line);
        T other = value; /* what is larger goes word by word */
        for (size_t at = 0; at < sizeof(T); at += 4) {
            unsigned word = 0;
            size_t bytes = sizeof(T) - at < 4 ? sizeof(T) - at : 4;
            memcpy(&word, (const char *)&value + at, bytes);
            word = hc::shuffle(HC_SHFL, mask, word, lane_of(rank), 32, file, line);
            memcpy((char *)&other + at, &word, bytes);
        }
        return other;
    }
    template <class T> T shfl(T value, unsigned rank, HC_HERE) const {
        return from(value, rank % size(), hc_file, hc_line);
    }
    template <class T> T shfl_up(T value, unsigned by, HC_HERE) const {
        unsigned me = thread_rank();
        return from(value, me < by ? me : me - by, hc_file, hc_line);
    }
    template <class T> T shfl_down(T value, unsigned by, HC_HERE) const {
        return from(value, thread_rank() + by, hc_file, hc_line);
    }
    unsigned ballot(int predicate, HC_HERE) const {
        return packed(hc::ballot(mask, predicate, hc_file, hc_line));
    }
    int any(int predicate, HC_HERE) const {
        return hc::ballot(mask, predicate, hc_file, hc_line) != 0;
    }
    int all(int predicate, HC_HERE) const {
        return hc::ballot(mask, !predicate, hc_file, hc_line) == 0;
    }
};

struct coalesced_group : hc_lanes {};
inline coalesced_group coalesced_threads(HC_HERE) {
    return {{(unsigned)hc_warp(HC_ACTIVEMASK, 0, 0, 0, 32, hc_file, hc_line)}};
}
/* Those of a group that say the same. */
inline coalesced_group binary_partition(const hc_lanes &group, bool predicate, HC_HERE) {
    unsigned yes = hc::ballot(group.mask, predicate, hc_file, hc_line);
    return {{predicate ? yes : group.mask & ~yes}};
}
template <class T> coalesced_group labeled_partition(const hc_lanes &group, T label, HC_HERE) {
    return {{hc::match_any(group.mask, label, hc_file, hc_line)}};
}

template <unsigned N, class Parent = void> struct thread_block_tile : hc_lanes {
    static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0,
                  "a tile has 1, 2, 4, 8, 16 or 32 threads here");
    thread_block_tile() : hc_lanes{(unsigned)(((1ull << N) - 1) << lane() / N * N)} {}
    template <class P> thread_block_tile(const thread_block_tile<N, P> &other) : hc_lanes(other) {}
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <class T> T shfl_xor(T value, unsigned lanes, HC_HERE) const {
        return from(value, thread_rank() ^ lanes, hc_file, hc_line);
    }
};
template <unsigned N> thread_block_tile<N, thread_block> tiled_partition(const thread_block &) {
    return {};
}
template <unsigned N, unsigned M, class P>
thread_block_tile<N, thread_block_tile<M, P>> tiled_partition(const thread_block_tile<M, P> &) {
    static_assert(N <= M, "a tile is part of what it is made of");
    return {};
}

/* Any of them, known when the kernel runs. */
class thread_group {
    bool is_block;
    hc_lanes lanes; /* else */

  public:
    thread_group(const thread_block &) : is_block(true), lanes{0} {}
    thread_group(const hc_lanes &of) : is_block(false), lanes(of) {}
    void sync(HC_HERE) const {
        is_block ? thread_block::sync(hc_file, hc_line) : lanes.sync(hc_file, hc_line);
    }
    unsigned thread_rank() const {
        return is_block ? thread_block::thread_rank() : lanes.thread_rank();
    }
    unsigned size() const { return is_block ? thread_block::size() : lanes.size(); }
    unsigned num_threads() const { return size(); }
    static constexpr bool is_valid() { return true; }
};
/* Tiles of a block, or of a tile, of a size that the kernel computes. */
inline thread_group tiled_partition(const thread_group &, unsigned size, HC_HERE) {
    if (size == 0 || size > 32 || (size & (size - 1))) hc_trap(hc_file, hc_line);
    unsigned first = hc_lanes::lane() / size * size;
    return hc_lanes{(unsigned)(((1ull << size) - 1) << first)};
}

template <class Group> void sync(const Group &group, HC_HERE) { group.sync(hc_file, hc_line); }

template <class T> struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less { /* the lesser of two, as CUDA's */
    T operator()(T a, T b) const { return a < b ? a : b; }
};
template <class T> struct greater {
    T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class T> struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

/* All lanes get the value, combined in the order of their ranks. */
template <class Group, class T, class F> T reduce(const Group &group, T value, F combine, HC_HERE) {
    T result = value;
    for (unsigned rank = 0; rank < group.size(); rank++) {
        T other = group.from(value, rank, hc_file, hc_line);
        result = rank == 0 ? other : combine(result, other);
    }
    return result;
}

/* Each lane gets the values up to its own, combined; exclusive: those before it, from T() on. */
template <class Group, class T, class F = plus<T>>
T inclusive_scan(const Group &group, T value, F combine = {}, HC_HERE) {
    T result = value;
    for (unsigned rank = 0; rank < group.size(); rank++) {
        T other = group.from(value, rank, hc_file, hc_line);
        if (rank <= group.thread_rank()) result = rank == 0 ? other : combine(result, other);
    }
    return result;
}
template <class Group, class T, class F = plus<T>>
T exclusive_scan(const Group &group, T value, F combine = {}, HC_HERE) {
    T result = {};
    for (unsigned rank = 0; rank < group.size(); rank++) {
        T other = group.from(value, rank, hc_file, hc_line);
        if (rank < group.thread_rank()) result = rank == 0 ? other : combine(result, other);
    }
    return result;
}

} // namespace cooperative_groups
#endif
