/* handle.c: cuBLAS's handles: stream, pointer mode, names of statuses. */
#include "handle.h"

#include <stdlib.h>

enum { ALIVE = 0x63624c53 };

cublasStatus_t hc_blas_Create(cublasHandle_t *handle) {
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = calloc(1, sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    (*handle)->alive = ALIVE;
    return CUBLAS_STATUS_SUCCESS;
}

bool hc_blas_valid(cublasHandle_t handle) { return handle && handle->alive == ALIVE; }

#define NEED(handle)                                                                               \
    if (!hc_blas_valid(handle)) return CUBLAS_STATUS_NOT_INITIALIZED

cublasStatus_t hc_blas_Destroy(cublasHandle_t handle) {
    NEED(handle);
    static cublasHandle_t destroyed;
    hc_enter();
    handle->alive = 0;
    handle->destroyed_before = destroyed;
    destroyed = handle;
    hc_leave();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_SetStream(cublasHandle_t handle, cudaStream_t stream) {
    NEED(handle);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_GetStream(cublasHandle_t handle, cudaStream_t *stream) {
    NEED(handle);
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

/* OpenBLAS brings its own scratch; that the workspace is device memory is checked all the same. */
cublasStatus_t hc_blas_SetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes,
                                    const char *file, int line) {
    NEED(handle);
    hc_enter();
    cudaError_t error = hc_check_device(workspace, bytes, "cuBLAS workspace", file, line);
    hc_leave();
    return error ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_SetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    NEED(handle);
    handle->math = mode; /* no tensor cores here: every mode computes in full precision */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_GetMathMode(cublasHandle_t handle, cublasMath_t *mode) {
    NEED(handle);
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_SetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    NEED(handle);
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_GetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode) {
    NEED(handle);
    *mode = handle->mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_SetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
    NEED(handle);
    (void)mode; /* OpenBLAS with one thread uses none */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hc_blas_GetVersion(cublasHandle_t handle, int *version) {
    NEED(handle);
    *version = 120000;
    return CUBLAS_STATUS_SUCCESS;
}

const char *hc_blas_GetStatusName(cublasStatus_t status) {
    switch (status) {
#define NAME(name, number, text)                                                                   \
    case name:                                                                                     \
        return #name;
        HC_BLAS_STATUSES(NAME)
#undef NAME
    }
    return "unrecognized status";
}

const char *hc_blas_GetStatusString(cublasStatus_t status) {
    switch (status) {
#define TEXT(name, number, text)                                                                   \
    case name:                                                                                     \
        return text;
        HC_BLAS_STATUSES(TEXT)
#undef TEXT
    }
    return "unrecognized status";
}
