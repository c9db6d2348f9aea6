/* mma_ptx.h: fragments and their products by a GPU's instructions. (mma.h says what they do, and
 * includes this file; hostcuda never reads it.)
 *
 * GPUs before compute capability 8.0 have none of them: there a kernel that calls one stops. No
 * launch gets so far, as rungs.def says since when a rung is. */
#ifndef KERNELS_MMA_PTX_H
#define KERNELS_MMA_PTX_H

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define MMA_PTX(text, ...)        asm(text __VA_ARGS__)
#define MMA_PTX_MEMORY(text, ...) asm volatile(text __VA_ARGS__ : "memory")
#else
#define MMA_PTX(...)        __trap()
#define MMA_PTX_MEMORY(...) __trap()
#endif

static inline __device__ void mma_bf16(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
    MMA_PTX("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};",
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static inline __device__ void mma_tf32(float (&d)[4], const uint32_t (&a)[4],
                                       const uint32_t (&b)[2]) {
    MMA_PTX("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};",
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

static inline __device__ void ldmatrix(uint32_t (&r)[4], const void *row) {
    MMA_PTX_MEMORY("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];",
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"((unsigned)__cvta_generic_to_shared(row)));
}

static inline __device__ void ldmatrix_turned(uint32_t (&r)[4], const void *row) {
    MMA_PTX_MEMORY("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];",
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"((unsigned)__cvta_generic_to_shared(row)));
}

static inline __device__ uint32_t to_tf32(float x) {
    uint32_t y = 0;
    MMA_PTX("cvt.rna.tf32.f32 %0, %1;", : "=r"(y) : "f"(x));
    return y;
}

static inline __device__ uint32_t to_bf16(float low, float high) {
    uint32_t y = 0;
    MMA_PTX("cvt.rn.bf16x2.f32 %0, %1, %2;", : "=r"(y) : "f"(high), "f"(low));
    return y;
}

static inline __device__ void copy_16_async(void *to, const void *from, bool there) {
    MMA_PTX_MEMORY("cp.async.cg.shared.global [%0], [%1], 16, %2;",
                   ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0));
}

static inline __device__ void copy_16_async_again(void *to, const void *from, bool there) {
    MMA_PTX_MEMORY("cp.async.ca.shared.global [%0], [%1], 16, %2;",
                   ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0));
}

#undef MMA_PTX
#undef MMA_PTX_MEMORY
#endif
