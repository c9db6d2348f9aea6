/* cuda_pipeline.h: copies to shared memory by one thread, in C's names. */
#ifndef HOSTCUDA_CUDA_PIPELINE_H
#define HOSTCUDA_CUDA_PIPELINE_H

#include "hostcuda/async.h"

/* 4, 8 or 16 bytes, aligned so; the last `zeros` of them are zeros and not read. */
static __forceinline__ void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                                    size_t zeros = 0, HC_HERE) {
    if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes) hc_trap(hc_file, hc_line);
    if (zeros > 0) {
        hc::copy_part<1>(to, from, bytes - zeros);
        for (size_t i = bytes - zeros; i < bytes; i++) static_cast<char *>(to)[i] = 0;
    } else if (bytes == 4) {
        hc::copy_part<4>(to, from, bytes);
    } else if (bytes == 8) {
        hc::copy_part<8>(to, from, bytes);
    } else {
        hc::copy_part<16>(to, from, bytes);
    }
}
static __forceinline__ void __pipeline_commit() {}
static __forceinline__ void __pipeline_wait_prior(size_t stages) { (void)stages; }

#endif
