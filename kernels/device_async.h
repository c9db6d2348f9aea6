/* device_async.h: copies to shared memory by the hardware, in PTX. (device.h says what they do, and
 * includes this file for GPUs that have them: hostcuda and older ones never read it.) */
#ifndef KERNELS_DEVICE_ASYNC_H
#define KERNELS_DEVICE_ASYNC_H

/* (.cg passes the first-level cache by, but only takes 16 bytes) */
template <int T>
static inline __device__ void copy_async(tl_real *to, const tl_real *from, bool there) {
    const int bytes = T * (int)sizeof(tl_real);
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    int take = there ? bytes : 0;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(take)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(bytes), "r"(take)
                     : "memory");
}
static inline __device__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> static inline __device__ void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#endif
