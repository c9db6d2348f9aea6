/* cuda_check.cu: the words for a CUDA or cuBLAS call that failed. (tl/cuda.h, tl/cublas.h) */
#include "tl/cublas.h"

#include <string.h>

/* A kernel that faults takes the context with it: from then on every call of this process returns
 * the same error, whatever it does. So the line must not blame the call that happened to see it. */
static bool is_fault(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
        return true;
    default:
        return false;
    }
}

tl_status tl_cuda_failed(cudaError_t error, const char *file, int line, const char *what) {
    int length = (int)strcspn(what, "(");
    const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
    if (is_fault(error))
        return tl_fail(TL_EDEVICE, file, line,
                       "%s: a kernel that was queued before this call, or this one, faulted on the "
                       "GPU (noticed in %.*s); nothing more can run there until the program is "
                       "started again; compute-sanitizer in front of the program names the kernel",
                       name, length, what);
    const char *hint = "";
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion)
        hint =
            "; libtl_cuda.so was built for other GPUs or a newer driver: run make on this machine";
    return tl_fail(TL_EDEVICE, file, line, "%.*s: %s: %s%s", length, what, name, text, hint);
}

tl_status tl_cublas_failed(cublasStatus_t status, const char *file, int line, const char *what) {
    int length = (int)strcspn(what, "(");
    return tl_fail(TL_EDEVICE, file, line, "%.*s: %s: %s", length, what,
                   cublasGetStatusName(status), cublasGetStatusString(status));
}
