/* warpgroup.h: products of tiles by a warpgroup, as compute capability 9.0 has them (CUDA C).
 *
 * Four warps in a row, the first of them a multiple of four, multiply together: 64 rows of A by
 * SIDE columns of B, both from shared memory, without a load of a fragment (PTX ISA, "wgmma").
 * The product goes on while the warps do other things, until warpgroup_wait(). Warp w of the four
 * holds rows 16w to 16w + 15; each 8 columns of them lie in its lanes as D of mma.h.
 *
 * Where an operand lies is told by a descriptor: the address, two distances, and how its pieces of
 * 16 bytes have changed places, which is what tensor_tile.h does with them anyway:
 *
 *   along k    lines of 64 bytes: piece ^ line/2 % 4; 8 lines lie 512 bytes from the next 8
 *   across k   lines of 128 bytes, 64 numbers of bfloat16: piece ^ line % 8; 8 lines lie 1,024
 *              bytes from the next 8 along k, and the next 64 numbers `panel` bytes on
 *
 * The pattern hangs on the address, so both begin at multiples of 1,024 bytes.
 *
 * Code for sm_90a alone has the instructions (mk/cuda.mk): HAS_WARPGROUPS says whether this is it.
 * Other GPUs, and hostcuda, multiply by warps (mma.h). */
#ifndef KERNELS_WARPGROUP_H
#define KERNELS_WARPGROUP_H

#include <stdint.h>

#include "tl/cuda.h"

/* The 128 threads of a warpgroup wait for each other; each of the block's does, equally often. */
static inline __device__ void warpgroup_sync();

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WARPGROUPS 1

/* (barrier 0 is the block's) */
static inline __device__ void warpgroup_sync() {
    asm volatile("bar.sync %0, 128;" ::"r"(1 + (int)threadIdx.x / 128) : "memory");
}

enum { TURNED_64 = 2, TURNED_128 = 1 }; /* how pieces have changed places */

/* Of what lies at `address` of shared memory. `lines`: from 8 lines to the next 8. */
static inline __device__ uint64_t operand_at(unsigned address, int places, int panel, int lines) {
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(panel >> 4) << 16 |
           (uint64_t)(lines >> 4) << 32 | (uint64_t)places << 62;
}

/* The sums in registers are the warpgroup's from here on, until it has waited. */
static inline __device__ void warpgroup_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static inline __device__ void warpgroup_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* All but the last N committed groups are done. */
template <int N> static inline __device__ void warpgroup_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/* Nothing that reads these sums may be moved before the wait: for the compiler an instruction that
 * writes them later is over when it has been issued. */
static inline __device__ void warpgroup_sums_are_ours(float (&d)[4]) {
    asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
}
/* A warpgroup keeps N registers a thread of those it was launched with, or takes what others gave
 * back: multiples of 8. */
template <int N> static inline __device__ void registers_give_back() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> static inline __device__ void registers_take() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
/* What this thread has written to shared memory, by cp.async too, is there for products to read. */
static inline __device__ void shared_is_written() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Operands of an instruction: 16 sums of four column blocks. */
#define SUMS_4(d, j)  "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define SUMS_16(d, j) SUMS_4(d, j), SUMS_4(d, j + 1), SUMS_4(d, j + 2), SUMS_4(d, j + 3)
#define SUMS_32(d, j) SUMS_16(d, j), SUMS_16(d, j + 4)
#define NAMES_32                                                                                   \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "   \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_64                                                                                   \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "  \
             "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

#define NAMES_128                                                                                  \
    NAMES_64                                                                                       \
    ", "                                                                                           \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, "        \
    "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "        \
    "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, "     \
    "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "         \
    "%127"

/* D += A B, 64 x 64 or 64 x 128 sums, 16 (bfloat16) or 8 (TF32) along k. A_TURNED, B_TURNED: the
 * operand lies across k. */
template <bool A_TURNED, bool B_TURNED>
static inline __device__ void warpgroup_bf16(float (&d)[8][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32
                 "}, %32, %33, add, 1, 1, %34, %35;}"
                 : SUMS_32(d, 0)
                 : "l"(a), "l"(b), "n"((int)A_TURNED), "n"((int)B_TURNED));
}
template <bool A_TURNED, bool B_TURNED>
static inline __device__ void warpgroup_bf16(float (&d)[16][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_64
                 "}, %64, %65, add, 1, 1, %66, %67;}"
                 : SUMS_32(d, 0), SUMS_32(d, 8)
                 : "l"(a), "l"(b), "n"((int)A_TURNED), "n"((int)B_TURNED));
}
static inline __device__ void warpgroup_tf32(float (&d)[8][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" NAMES_32
                 "}, %32, %33, add, 1, 1;}"
                 : SUMS_32(d, 0)
                 : "l"(a), "l"(b));
}
static inline __device__ void warpgroup_tf32(float (&d)[16][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" NAMES_64
                 "}, %64, %65, add, 1, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 8)
                 : "l"(a), "l"(b));
}
/* The same of 64 x 256 sums. */
template <bool A_TURNED, bool B_TURNED>
static inline __device__ void warpgroup_bf16(float (&d)[32][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" NAMES_128
                 "}, %128, %129, add, 1, 1, %130, %131;}"
                 : SUMS_32(d, 0), SUMS_32(d, 8), SUMS_32(d, 16), SUMS_32(d, 24)
                 : "l"(a), "l"(b), "n"((int)A_TURNED), "n"((int)B_TURNED));
}
static inline __device__ void warpgroup_tf32(float (&d)[32][4], uint64_t a, uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" NAMES_128
                 "}, %128, %129, add, 1, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 8), SUMS_32(d, 16), SUMS_32(d, 24)
                 : "l"(a), "l"(b));
}
/* ... and with A in registers, as mma_tf32 has it: the warp's 16 rows. */
static inline __device__ void warpgroup_tf32(float (&d)[32][4], const uint32_t (&a)[4],
                                             uint64_t b) {
    asm volatile("{.reg .pred add; setp.eq.b32 add, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" NAMES_128
                 "}, {%128, %129, %130, %131}, %132, add, 1, 1;}"
                 : SUMS_32(d, 0), SUMS_32(d, 8), SUMS_32(d, 16), SUMS_32(d, 24)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef SUMS_4
#undef SUMS_16
#undef SUMS_32
#undef NAMES_32
#undef NAMES_64
#undef NAMES_128

#else
#define HAS_WARPGROUPS 0
static inline __device__ void warpgroup_sync() { __syncthreads(); }
#endif
#endif
