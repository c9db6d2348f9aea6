/* mma.h: products of small matrices by the tensor cores of a warp, and what feeds them (CUDA C).
 *
 * All 32 lanes of a warp call together. Each holds a fragment of a matrix in registers; which
 * elements those are says NVIDIA's PTX ISA ("Matrix fragments for mma.m16n8k16" and "… m16n8k8").
 * With g = lane / 4 and t = lane % 4:
 *
 *                 mma_bf16: 16 x 8 x 16            mma_tf32: 16 x 8 x 8
 *   A[row][k]     a[i] = A[g + i%2*8][2t + i/2*8]  a[i] = A[g + i%2*8][t + i/2*4]
 *                 and, in its high half, the next k
 *   B[k][column]  b[i] = B[2t + i*8][g] and next   b[i] = B[t + i*4][g]
 *   D[row][column]   both: d[i] = D[g + i/2*8][2t + i%2]
 *
 * Sums are float; a product of two bfloat16 or TF32 numbers is exact in float. How a tensor core
 * rounds while it adds is its own affair: within 2^-23 of the sum of absolute values for each term.
 *
 * A GPU of compute capability 8.0 or newer does it by instructions (mma_ptx.h). On hostcuda the
 * lanes exchange their fragments (mma_host.h): a wrong layout shows on a laptop. */
#ifndef KERNELS_MMA_H
#define KERNELS_MMA_H

#include <stdint.h>

#include "tl/cuda.h"

/* D += A B */
static inline __device__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]);
static inline __device__ void mma_tf32(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]);

/* Loads four matrices of 8 rows of 16 bytes from shared memory. Lane l says where row l % 8 of
 * matrix l / 8 lies, at a multiple of 16 bytes; r[i] is the lane's word of matrix i: the t-th of
 * row g. `turned`: of matrices of 16-bit numbers, those of rows 2t and 2t + 1 in column g. */
static inline __device__ void ldmatrix(uint32_t (&r)[4], const void *row);
static inline __device__ void ldmatrix_turned(uint32_t (&r)[4], const void *row);

/* Rounded as tl_rounded does (tl/precision.h): to TF32; two to bfloat16, `low` in the low half. */
static inline __device__ uint32_t to_tf32(float x);
static inline __device__ uint32_t to_bf16(float low, float high);

/* 16 bytes from global to shared memory, as copy_async of device.h; zeros if not `there`. Groups
 * end by copy_commit() and are waited for by copy_wait(). `again`: by way of the first-level cache,
 * for what the block will soon read once more. */
static inline __device__ void copy_16_async(void *to, const void *from, bool there);
static inline __device__ void copy_16_async_again(void *to, const void *from, bool there);

#ifdef HOSTCUDA
#include "kernels/mma_host.h"
#else
#include "kernels/mma_ptx.h"
#endif

#endif
