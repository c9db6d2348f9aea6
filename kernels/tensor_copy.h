/* tensor_copy.h: tiles that the tensor memory accelerator brings, and the barriers it reports to
 * (CUDA C, sm_90a as warpgroup.h; PTX ISA, "cp.async.bulk.tensor", "mbarrier").
 *
 * One thread asks for a box of a matrix by a CUtensorMap; zeros come for what lies outside. It is
 * written to shared memory with pieces turned as warpgroup.h wants them, to all blocks of a cluster
 * that the mask names, at the same place, and each one's barrier counts the bytes.
 *
 * A barrier's phase is over when `count` threads have arrived and the bytes that were announced
 * have come; phases are told apart by parity, the first one is 0. */
#ifndef KERNELS_TENSOR_COPY_H
#define KERNELS_TENSOR_COPY_H

#include <cuda.h>

#include "kernels/warpgroup.h"

#if HAS_WARPGROUPS
/* Barriers are named by their address in shared memory. */
static inline __device__ void barrier_init(unsigned barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
static inline __device__ void barriers_are_made() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static inline __device__ void barrier_arrive_expecting(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
/* At the barrier of the same place in block `rank` of the cluster. (No .release.cluster: what a
 * thread has written is not at stake here, and it would wait for all of that to be seen by the GPU:
 * half of the time of a product.) */
static inline __device__ void barrier_arrive_at(unsigned barrier, int rank) {
    asm volatile("{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                 "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}
static inline __device__ void barrier_wait(unsigned barrier, int parity) {
    asm volatile("{.reg .pred over; again: "
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1; "
                 "@!over bra again;}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

static inline __device__ int cluster_rank() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
static inline __device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* The box from column x of line y on. */
static inline __device__ void copy_box(unsigned to, const CUtensorMap *map, int x, int y,
                                       unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"((uint64_t)map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}
static inline __device__ void copy_box_to_all(unsigned to, const CUtensorMap *map, int x, int y,
                                              unsigned barrier, int mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
                 "l"((uint64_t)map), "r"(barrier), "r"(x), "r"(y), "h"((short)mask)
                 : "memory");
}
#endif
#endif
