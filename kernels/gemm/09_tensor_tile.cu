/* 09_tensor_tile.cu: the kernel of rungs 9 and 10 of gemm (09_tensor_stored.h).
 *
 * Three warpgroups: one thread of the last asks for slices, four ahead, and the other two multiply.
 * They meet at two barriers for each place of a slice: `full` when its bytes have come, `empty`
 * when all that read it have. Blocks of a cluster share y: each brings half of it to both, so a
 * place is empty when the warpgroups of both blocks say so. */
#include "kernels/gemm/09_tensor_stored.h"

#ifdef HAS_TENSOR_MAPS
#include "kernels/tensor_tile.h"

#include "kernels/tensor_copy.h"

enum {
    STAGES = 4,
    BAND = 8, /* tiles along x that blocks go through before they go along y */
    X_BYTES = STORED_X * STORED_SLICE,
    Y_BYTES = STORED_Y * STORED_SLICE,
    BYTES = X_BYTES + Y_BYTES, /* of a slice */
    HALF_Y = Y_BYTES / STORED_CLUSTER,
    WARPGROUP = 128, /* threads */
    PRODUCER = 2,    /* warpgroups before it multiply */
    MEMORY = STAGES * BYTES + 2 * STAGES * 8,
};

#if HAS_WARPGROUPS
/* The barriers of place s, behind the slices. */
static inline __device__ unsigned full(unsigned memory, int s) {
    return memory + (unsigned)(STAGES * BYTES + s * 8);
}
static inline __device__ unsigned empty(unsigned memory, int s) { return full(memory, STAGES + s); }

template <class T> static constexpr int DEPTH = STORED_SLICE / (int)sizeof(T);

/* What lies along k comes as one box, what lies across as panels of 128 bytes, one k a line.
 * `lines`: how many of the operand. */
template <class T, bool ACROSS>
static inline __device__ void ask(unsigned to, const CUtensorMap *map, int first, int lines, int k,
                                  unsigned barrier, int mask) {
    const int panel = DEPTH<T>, bytes = DEPTH<T> * STORED_SLICE;
    int boxes = ACROSS ? lines / panel : 1;
    for (int i = 0; i < boxes; i++) {
        int x = ACROSS ? first + i * panel : k, y = ACROSS ? k : first;
        if (mask)
            copy_box_to_all(to + (unsigned)(i * bytes), map, x, y, barrier, mask);
        else
            copy_box(to + (unsigned)(i * bytes), map, x, y, barrier);
    }
}

template <class T, bool X_ACROSS, bool Y_ACROSS>
static inline __device__ void produce(unsigned memory, const CUtensorMap *x, const CUtensorMap *y,
                                      int i0, int j0, int slices) {
    int rank = cluster_rank(), mask = (1 << STORED_CLUSTER) - 1;
    for (int s = 0; s < slices; s++) {
        int place = s % STAGES, k = s * DEPTH<T>;
        unsigned to = memory + (unsigned)(place * BYTES), ready = full(memory, place);
        if (s >= STAGES) barrier_wait(empty(memory, place), (s / STAGES - 1) % 2);
        barrier_arrive_expecting(ready, BYTES);
        ask<T, X_ACROSS>(to, x, i0, STORED_X, k, ready, 0);
        ask<T, Y_ACROSS>(to + (unsigned)(X_BYTES + rank * HALF_Y), y,
                         j0 + rank * (STORED_Y / STORED_CLUSTER), STORED_Y / STORED_CLUSTER, k,
                         ready, mask);
    }
}

/* Step `step` of a slice, of an operand from line `first` on: 32 bytes along k, or 16 lines. */
template <class T, bool ACROSS>
static inline __device__ uint64_t step_at(unsigned slice, int first, int step) {
    const int panel = DEPTH<T> * STORED_SLICE;
    if (ACROSS)
        return operand_at(slice + (unsigned)(first / DEPTH<T> * panel + step * 16 * STORED_SLICE),
                          TURNED_128, panel, 1024);
    return operand_at(slice + (unsigned)(first * STORED_SLICE + step * 32), TURNED_128, 16, 1024);
}

/* The fragment of x from row i0 on in step `step`: TF32 across k, read number by number. Panels
 * have 32 numbers of a line, pieces turned. */
static inline __device__ void fragment_at(uint32_t (&a)[4], const unsigned char *slice, int i0,
                                          int step) {
    int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = i0 + lane / 4 + i % 2 * 8, k = step * 8 + lane % 4 + i / 2 * 4;
        int place = row / 32 * (32 * STORED_SLICE) + k * STORED_SLICE +
                    ((row % 32 / 4) ^ k % 8) * 16 + row % 4 * 4;
        a[i] = *(const uint32_t *)(slice + place);
    }
}

/* This warpgroup has read place s. */
static inline __device__ void leave(unsigned memory, int s) {
    int thread = (int)threadIdx.x % WARPGROUP;
    if (thread < STORED_CLUSTER) barrier_arrive_at(empty(memory, s % STAGES), thread);
}

template <class T, bool X_ACROSS, bool Y_ACROSS>
static inline __device__ void consume(float (&sum)[STORED_Y / 8][4], unsigned memory,
                                      const unsigned char *generic, int warpgroup, int slices) {
    constexpr bool BY_REGISTERS = sizeof(T) == 4 && X_ACROSS;
    for (int s = 0; s < slices; s++) {
        int place = s % STAGES * BYTES;
        unsigned x = memory + (unsigned)place, y = x + X_BYTES;
        barrier_wait(full(memory, s % STAGES), s / STAGES % 2);
        if constexpr (BY_REGISTERS) {
            uint32_t a[4][4];
            int i0 = warpgroup * 64 + (int)threadIdx.x / 32 % 4 * 16;
#pragma unroll
            for (int step = 0; step < 4; step++) fragment_at(a[step], generic + place, i0, step);
            warpgroup_begin();
#pragma unroll
            for (int step = 0; step < 4; step++)
                warpgroup_tf32(sum, a[step], step_at<T, false>(y, 0, step));
            warpgroup_commit();
            warpgroup_wait<0>();
            asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
            leave(memory, s);
        } else {
            warpgroup_begin();
#pragma unroll
            for (int step = 0; step < 4; step++) {
                uint64_t of_x = step_at<T, X_ACROSS>(x, warpgroup * 64, step);
                uint64_t of_y = step_at<T, Y_ACROSS>(y, 0, step);
                if constexpr (sizeof(T) == 2)
                    warpgroup_bf16<X_ACROSS, Y_ACROSS>(sum, of_x, of_y);
                else
                    warpgroup_tf32(sum, of_x, of_y);
            }
            warpgroup_commit();
            warpgroup_wait<1>();
            if (s > 0) leave(memory, s - 1);
        }
    }
    warpgroup_wait<0>();
#pragma unroll
    for (int j = 0; j < STORED_Y / 8; j++) warpgroup_sums_are_ours(sum[j]);
}

static inline __device__ void store(const stored_job &job, const float (&sum)[STORED_Y / 8][4],
                                    int i0, int j0) {
    int lane = (int)threadIdx.x % 32;
    i0 += (int)threadIdx.x / 32 * 16 + lane / 4, j0 += lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < STORED_Y / 8; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int x = i0 + 8 * half, y = j0 + 8 * j;
            if (x >= job.x || y >= job.y) continue;
            float *c = job.C + (size_t)x * job.x_step + (size_t)y * job.y_step;
            float2 two = make_float2(sum[j][2 * half], sum[j][2 * half + 1]);
            if (job.pairs) {
                float2 before = job.accumulate ? *(const float2 *)c : make_float2(0, 0);
                *(float2 *)c = make_float2(before.x + two.x, before.y + two.y);
            } else {
                c[0] = (job.accumulate ? c[0] : 0) + two.x;
                if (y + 1 < job.y) c[job.y_step] = (job.accumulate ? c[job.y_step] : 0) + two.y;
            }
        }
}
#endif

/* (no launch gets to another GPU, as rungs.def says which has it; code of a build that was not made
 * for this one stops) */
template <class T, bool X_ACROSS, bool Y_ACROSS>
static __global__ void __launch_bounds__((PRODUCER + 1) * WARPGROUP, 1)
    multiply_stored(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                    stored_job job) {
#if HAS_WARPGROUPS
    extern __shared__ __align__(1024) unsigned char generic[];
    unsigned memory = (unsigned)__cvta_generic_to_shared(generic);
    int warpgroup = (int)threadIdx.x / WARPGROUP, slices = (job.k - 1) / DEPTH<T> + 1;
    int wide = (job.y - 1) / STORED_Y + 1, high = (int)gridDim.x / wide;
    int band = (int)blockIdx.x / (BAND * wide), in_band = (int)blockIdx.x % (BAND * wide);
    int down = high - band * BAND < BAND ? high - band * BAND : BAND;
    int i0 = (band * BAND + in_band % down) * STORED_X, j0 = in_band / down * STORED_Y;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full(memory, s), 1);
            barrier_init(empty(memory, s), PRODUCER * STORED_CLUSTER);
        }
        barriers_are_made();
    }
    cluster_sync();
    if (warpgroup == PRODUCER) {
        registers_give_back<40>();
        if (threadIdx.x == PRODUCER * WARPGROUP)
            produce<T, X_ACROSS, Y_ACROSS>(memory, &x, &y, i0, j0, slices);
    } else {
        registers_take<232>(); /* 128 sums, and what is multiplied */
        float sum[STORED_Y / 8][4] = {};
        consume<T, X_ACROSS, Y_ACROSS>(sum, memory, generic, warpgroup, slices);
        store(job, sum, i0, j0);
    }
    cluster_sync(); /* a block that is through may still be told that a place is empty */
#else
    __trap();
#endif
}

typedef void (*stored_kernel)(CUtensorMap, CUtensorMap, stored_job);

static stored_kernel kernel_of(stored_order order) {
    if (!order.narrow)
        return order.x_across ? multiply_stored<float, true, false>
                              : multiply_stored<float, false, false>;
    if (order.x_across)
        return order.y_across ? multiply_stored<bf16, true, true>
                              : multiply_stored<bf16, true, false>;
    return order.y_across ? multiply_stored<bf16, false, true>
                          : multiply_stored<bf16, false, false>;
}

extern "C" tl_status tl_gemm_stored_tiles(tl_ctx *ctx, const CUtensorMap *x, const CUtensorMap *y,
                                          const stored_job *job, stored_order order) {
    stored_kernel kernel = kernel_of(order);
    int high = (job->x - 1) / STORED_X + 1, wide = (job->y - 1) / STORED_Y + 1;
    high = (high + STORED_CLUSTER - 1) / STORED_CLUSTER * STORED_CLUSTER;
    TL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, MEMORY));
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = STORED_CLUSTER, cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(high * wide)), config.blockDim = dim3(3 * WARPGROUP);
    config.dynamicSmemBytes = MEMORY, config.stream = tl_stream(ctx);
    config.attrs = &cluster, config.numAttrs = 1;
    TL_CUDA(cudaLaunchKernelEx(&config, kernel, *x, *y, *job));
    TL_LAUNCHED();
    return TL_OK;
}
#endif
