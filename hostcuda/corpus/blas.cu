// blas.cu: cuBLAS's calls against naive loops in double: transposes, leading dimensions, strides,
// increments, pointer modes, streams.
#include "cases.h"
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "hostcuda/counts.h"

// One set of names for both precisions.
#define PRECISION(T, S)                                                                            \
    static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,       \
                               int m, int n, int k, const T *alpha, const T *a, int lda,           \
                               const T *b, int ldb, const T *beta, T *c, int ldc) {                \
        return cublas##S##gemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);           \
    }                                                                                              \
    static cublasStatus_t gemms(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,      \
                                int m, int n, int k, const T *alpha, const T *a, int lda,          \
                                long long sa, const T *b, int ldb, long long sb, const T *beta,    \
                                T *c, int ldc, long long sc, int count) {                          \
        return cublas##S##gemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb,    \
                                             beta, c, ldc, sc, count);                             \
    }                                                                                              \
    static cublasStatus_t gemv(cublasHandle_t h, cublasOperation_t t, int m, int n,                \
                               const T *alpha, const T *a, int lda, const T *x, int incx,          \
                               const T *beta, T *y, int incy) {                                    \
        return cublas##S##gemv(h, t, m, n, alpha, a, lda, x, incx, beta, y, incy);                 \
    }                                                                                              \
    static cublasStatus_t axpy(cublasHandle_t h, int n, const T *alpha, const T *x, int incx,      \
                               T *y, int incy) {                                                   \
        return cublas##S##axpy(h, n, alpha, x, incx, y, incy);                                     \
    }                                                                                              \
    static cublasStatus_t dot(cublasHandle_t h, int n, const T *x, int incx, const T *y, int incy, \
                              T *result) {                                                         \
        return cublas##S##dot(h, n, x, incx, y, incy, result);                                     \
    }                                                                                              \
    static cublasStatus_t scal(cublasHandle_t h, int n, const T *alpha, T *x, int incx) {          \
        return cublas##S##scal(h, n, alpha, x, incx);                                              \
    }
PRECISION(float, S)
PRECISION(double, D)

static const cublasStatus_t good = CUBLAS_STATUS_SUCCESS;

// Small numbers without a pattern, the same each time.
template <class T> static std::vector<T> numbers(size_t n, unsigned seed) {
    std::vector<T> v(n);
    for (T &x : v)
        seed = seed * 1664525u + 1013904223u, x = (T)((int)(seed >> 16) % 201 - 100) / 64;
    return v;
}
template <class T> static T *upload(const std::vector<T> &v) {
    T *p;
    EXPECT(cudaMalloc(&p, v.size() * sizeof(T)) == cudaSuccess);
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <class T> static bool close(T got, double wanted, int terms) {
    double unit = sizeof(T) == 4 ? 6e-8 : 1.2e-16;
    return fabs(got - wanted) <= 8 * unit * (terms + 2) * 4;
}
// op(A)[i][j] of a column-major matrix
template <class T> static double at(const T *a, int ld, cublasOperation_t op, int i, int j) {
    return op == CUBLAS_OP_N ? a[i + (size_t)j * ld] : a[j + (size_t)i * ld];
}

template <class T>
static void try_gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                     int k, T alpha, T beta, int more, int batch) {
    int lda = (ta == CUBLAS_OP_N ? m : k) + more, ldb = (tb == CUBLAS_OP_N ? k : n) + more,
        ldc = m + more;
    size_t sa = (size_t)lda * (ta == CUBLAS_OP_N ? k : m) + more,
           sb = (size_t)ldb * (tb == CUBLAS_OP_N ? n : k) + more;
    size_t sc = (size_t)ldc * n + more;
    auto a = numbers<T>(sa * batch, 1), b = numbers<T>(sb * batch, 2),
         c = numbers<T>(sc * batch, 3);
    T *da = upload(a), *db = upload(b), *dc = upload(c);
    if (batch == 1)
        EXPECT(gemm(h, ta, tb, m, n, k, &alpha, da, lda, db, ldb, &beta, dc, ldc) == good);
    else
        EXPECT(gemms(h, ta, tb, m, n, k, &alpha, da, lda, sa, db, ldb, sb, &beta, dc, ldc, sc,
                     batch) == good);
    auto got = to_host(dc, (int)c.size(), [&](int e) {
        int p = e / (int)sc, i = e % (int)sc % ldc, j = e % (int)sc / ldc;
        if (i >= m || j >= n) return 0.0; // not written
        double sum = 0;
        for (int l = 0; l < k; l++)
            sum += fabs(at(&a[p * sa], lda, ta, i, l) * at(&b[p * sb], ldb, tb, l, j));
        return apart<T>(k + 3, fabs(alpha) * sum + fabs(beta * c[e]));
    });
    for (int p = 0; p < batch; p++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < ldc; i++) {
                double sum = 0, old = c[p * sc + i + (size_t)j * ldc];
                for (int l = 0; l < k && i < m; l++)
                    sum += at(&a[p * sa], lda, ta, i, l) * at(&b[p * sb], ldb, tb, l, j);
                T result = got[p * sc + i + (size_t)j * ldc];
                EXPECT(i < m ? close(result, alpha * sum + beta * old, k) : result == (T)old);
            }
    cudaFree(da), cudaFree(db), cudaFree(dc);
}
template <class T> static void all_gemms() {
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    cublasHandle_t h;
    EXPECT(cublasCreate(&h) == good);
    for (cublasOperation_t ta : ops)
        for (cublasOperation_t tb : ops) {
            try_gemm<T>(h, ta, tb, 5, 7, 3, 1, 0, 0, 1);
            try_gemm<T>(h, ta, tb, 16, 1, 9, -2, 1, 3, 1);
            try_gemm<T>(h, ta, tb, 1, 6, 8, (T)0.5, (T)-0.25, 1, 1);
            try_gemm<T>(h, ta, tb, 4, 5, 6, 1, 2, 2, 3);
        }
    try_gemm<T>(h, ops[0], ops[0], 3, 3, 0, 1, 2, 1, 1); // no terms: C is scaled
    EXPECT(cublasDestroy(h) == good);
}
RIGHT(gemm_single) { all_gemms<float>(); }
RIGHT(gemm_double) { all_gemms<double>(); }

// ---- calls that are made to fail ----

RIGHT(gemm_told_to_fail) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    cublasHandle_t h;
    EXPECT(cublasCreate(&h) == good);
    float *x = device_count<float>(4), one = 1, zero = 0;
    float *y = device_count<float>(4);
    outside(counts->fail_launch, 2);
    EXPECT(gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 2, &zero, y, 2) == good);
    EXPECT(gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 2, &zero, y, 2) ==
           CUBLAS_STATUS_EXECUTION_FAILED);
    EXPECT(gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 2, &zero, y, 2) == good);
    outside(counts->fail_launch, 0);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(x), cudaFree(y), cublasDestroy(h);
}

// beta = 0 must not read C, which may hold NaN.
RIGHT(gemm_overwrites_nan) {
    float one = 1, zero = 0, *a = device_count<float>(4), *c;
    cublasHandle_t h;
    cublasCreate(&h);
    cudaMalloc(&c, 16); // fresh memory is NaN
    EXPECT(gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) == good);
    EXPECT(to_host(c, 4)[3] == 11);
    cudaMemset(c, 0xff, 16);
    EXPECT(gemv(h, CUBLAS_OP_N, 2, 2, &one, a, 2, a, 1, &zero, c, 1) == good);
    EXPECT(to_host(c, 2)[1] == 3);
    cublasDestroy(h), cudaFree(a), cudaFree(c);
}

template <class T> static void vectors() {
    cublasHandle_t h;
    cublasCreate(&h);
    const int m = 6, n = 5, ld = 8;
    auto a = numbers<T>(ld * n, 4), x = numbers<T>(32, 5), y = numbers<T>(32, 6);
    T *da = upload(a), alpha = (T)1.5, beta = (T)-0.5;
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    for (cublasOperation_t t : ops)
        for (int incx = 1; incx <= 3; incx += 2) {
            int in = t == CUBLAS_OP_N ? n : m, out = t == CUBLAS_OP_N ? m : n, incy = 4 - incx;
            T *dx = upload(x), *dy = upload(y);
            EXPECT(gemv(h, t, m, n, &alpha, da, ld, dx, incx, &beta, dy, incy) == good);
            auto got = to_host(dy, 32, [&](int e) {
                double sum = 0;
                if (e % incy || e / incy >= out) return 0.0;
                for (int j = 0; j < in; j++)
                    sum += fabs(at(&a[0], ld, t, e / incy, j) * x[j * incx]);
                return apart<T>(in + 3, fabs(alpha) * sum + fabs(beta * y[e]));
            });
            for (int i = 0; i < out; i++) {
                double sum = 0;
                for (int j = 0; j < in; j++) sum += at(&a[0], ld, t, i, j) * x[j * incx];
                EXPECT(close(got[i * incy], alpha * sum + beta * y[i * incy], in));
            }
            EXPECT(got[31] == y[31] && (incy == 1 || got[1] == y[1]));
            T result = 0;
            double sum = 0, magnitude = 0;
            cudaMemcpy(dy, y.data(), 32 * sizeof(T), cudaMemcpyHostToDevice);
            EXPECT(dot(h, 7, dx, incx, dy, incy, &result) == good);
            for (int i = 0; i < 7; i++)
                sum += (double)x[i * incx] * y[i * incy],
                    magnitude += fabs((double)x[i * incx] * y[i * incy]);
            EXPECT(close(result, sum, 7));
            note_result(&result, 1, [&](int) { return apart<T>(7, magnitude); });
            EXPECT(axpy(h, 7, &alpha, dx, incx, dy, incy) == good);
            EXPECT(scal(h, 7, &beta, dx, incx) == good);
            got = to_host(dy, 32, [&](int e) {
                if (e % incy || e / incy >= 7) return 0.0;
                return apart<T>(2, fabs((double)y[e]) + fabs((double)alpha * x[e / incy * incx]));
            });
            auto scaled = to_host(dx, 32);
            for (int i = 0; i < 7; i++) {
                EXPECT(close(got[i * incy], (double)y[i * incy] + (double)alpha * x[i * incx], 2));
                EXPECT(scaled[i * incx] == (T)(beta * x[i * incx]));
            }
            cudaFree(dx), cudaFree(dy);
        }
    cublasDestroy(h), cudaFree(da);
}
RIGHT(vectors_single) { vectors<float>(); }
RIGHT(vectors_double) { vectors<double>(); }

// Scalars and results on the device: read and written in stream order, not at the call.
__global__ void set_to(float *p, float v) { *p = v; }
RIGHT(device_pointer_mode) {
    float *x = device_count<float>(8), *scalars = device_count<float>(2), *result = scalars + 1;
    cublasHandle_t h;
    cublasPointerMode_t mode;
    cudaStream_t s, got;
    cublasCreate(&h), cudaStreamCreate(&s);
    EXPECT(cublasSetStream(h, s) == good && cublasGetStream(h, &got) == good && got == s);
    EXPECT(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE) == good);
    EXPECT(cublasGetPointerMode(h, &mode) == good && mode == CUBLAS_POINTER_MODE_DEVICE);
    set_to<<<1, 1, 0, s>>>(scalars, 3);
    EXPECT(cublasSscal(h, 8, scalars, x, 1) == good);
    EXPECT(cublasSdot(h, 8, x, 1, x, 1, result) == good);
    cudaStreamSynchronize(s);
    EXPECT(to_host(result, 1)[0] == 9 * 140);
    cublasDestroy(h), cudaStreamDestroy(s), cudaFree(x), cudaFree(scalars);
}
// Work of a library waits in its stream like a kernel.
RIGHT(gemm_in_stream_order) {
    float one = 1, zero = 0, *a = device_count<float>(4), *c = device_count<float>(4);
    cublasHandle_t h;
    cudaStream_t s;
    cublasCreate(&h), cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cublasSetStream(h, s);
    for (int i = 0; i < 20; i++) {
        set_to<<<1, 1, 0, s>>>(a, i);
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2);
        set_to<<<1, 1, 0, s>>>(a, -1);
        cudaStreamSynchronize(s);
        EXPECT(to_host(c, 1)[0] == i * i + 2);
    }
    cublasDestroy(h), cudaStreamDestroy(s), cudaFree(a), cudaFree(c);
}
RIGHT(gemm_in_a_graph) {
    float one = 1, zero = 0, *a = device_count<float>(4), *c = device_count<float>(4);
    cublasHandle_t h;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    cublasCreate(&h), cudaStreamCreate(&s), cublasSetStream(h, s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    EXPECT(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) ==
           good);
    cudaStreamEndCapture(s, &g), cudaGraphInstantiate(&e, g, 0);
    cudaGraphLaunch(e, s), cudaStreamSynchronize(s);
    EXPECT(to_host(c, 4)[3] == 10);
    cudaGraphExecDestroy(e), cudaGraphDestroy(g), cublasDestroy(h), cudaStreamDestroy(s);
    cudaFree(a), cudaFree(c);
}
RIGHT(wrong_arguments_give_statuses) {
    float one = 1, *a = device_count<float>(4);
    cublasHandle_t h;
    cublasCreate(&h);
    EXPECT(cublasSscal(nullptr, 4, &one, a, 1) == CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, &one, a, 2, a, 2, &one, a, 2) ==
           CUBLAS_STATUS_INVALID_VALUE);
    /* the documents call it invalid, and cuBLAS 13 takes it */
    EXPECT_HERE(cublasSgemv(h, CUBLAS_OP_N, 2, 2, &one, a, 2, a, 0, &one, a, 1) ==
                CUBLAS_STATUS_INVALID_VALUE);
    EXPECT(!strcmp(cublasGetStatusString(CUBLAS_STATUS_SUCCESS), "success"));
    cublasDestroy(h), cudaFree(a);
}
RIGHT(handles_and_workspace) {
    float one = 1, two = 2, *x = device_count<float>(10);
    void *workspace;
    cublasHandle_t h;
    EXPECT(cudaMalloc(&workspace, 1 << 20) == cudaSuccess);
#ifndef CORPUS_ON_GPU // whose corpus is linked with cuBLAS alone
    cublasLtHandle_t light;
    EXPECT(cublasLtCreate(&light) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasLtDestroy(light) == CUBLAS_STATUS_SUCCESS);
#endif
    EXPECT(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSetWorkspace(h, workspace, 1 << 20) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSscal(h, 10, &two, x, 1) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSaxpy(h, 10, &one, x, 1, x, 1) == CUBLAS_STATUS_SUCCESS);
    EXPECT(to_host(x, 10)[9] == 36);
    EXPECT(cublasDestroy(h) == CUBLAS_STATUS_SUCCESS);
    cudaFree(workspace), cudaFree(x);
}
WRONG(workspace_of_the_host) {
    std::vector<char> workspace(4096);
    cublasHandle_t h;
    cublasCreate(&h);
    cublasSetWorkspace(h, workspace.data(), 4096); // wrong workspace_of_the_host: host-pointer
    cublasDestroy(h);
}
RIGHT(destroyed_handle) {
    float one = 1, *x = device_count<float>(10);
    cublasHandle_t h;
    cublasCreate(&h), cublasDestroy(h);
    EXPECT_HERE(cublasSscal(h, 6, &one, x, 1) == CUBLAS_STATUS_NOT_INITIALIZED);
    cudaFree(x);
}
WRONG(vector_too_short) {
    float one = 1, *x = device_count<float>(10);
    cublasHandle_t h;
    cublasCreate(&h);
    cublasSscal(h, 6, &one, x, 2); // wrong vector_too_short: copy-size
    cublasDestroy(h), cudaFree(x);
}
WRONG(freed) {
    float one = 1, *a = device_count<float>(4), *c = device_count<float>(4);
    cublasHandle_t h;
    cublasCreate(&h);
    auto op = CUBLAS_OP_N;
    cudaFree(a);
    cublasSgemm(h, op, op, 2, 2, 2, &one, a, 2, a, 2, &one, c, 2); // wrong freed: use-after-free
    cublasDestroy(h), cudaFree(c);
}

// Row-major C = A B with a column-major library: C' = B' A'.
RIGHT(blas_gemm) {
    float *a = device_count<float>(6), *b = device_count<float>(12), *c = device_count<float>(8);
    float one = 1, zero = 0, dot = 0;
    cublasHandle_t h;
    EXPECT(cublasCreate(&h) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 2, 3, &one, b, 4, a, 3, &zero, c, 4) ==
           CUBLAS_STATUS_SUCCESS);
    auto r = to_host(c, 8);
    EXPECT(r[0] == 20 && r[7] == 3 * 3 + 4 * 7 + 5 * 11);
    EXPECT(cublasSdot(h, 6, a, 1, a, 1, &dot) == CUBLAS_STATUS_SUCCESS && dot == 55);
    cublasDestroy(h);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
WRONG(by_rows) {
    float *a = device_count<float>(6), *b = device_count<float>(12), *c = device_count<float>(8);
    float one = 1, zero = 0;
    cublasHandle_t h;
    cublasCreate(&h);
    auto op = CUBLAS_OP_N;
    cublasSgemm(h, op, op, 2, 4, 3, &one, a, 1, b, 4, &zero, c, 4); // wrong by_rows: blas-argument
    cublasDestroy(h);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
WRONG(host_a) {
    float host[4] = {}, *b = device_count<float>(4);
    float one = 1, zero = 0;
    cublasHandle_t h;
    cublasCreate(&h);
    auto op = CUBLAS_OP_N;
    cublasSgemm(h, op, op, 2, 2, 2, &one, host, 2, b, 2, &zero, b, 2); // wrong host_a: host-pointer
    cublasDestroy(h);
    cudaFree(b);
}

RIGHT(gemm_by_types) {
    cublasHandle_t h;
    float *x = device_count<float>(6), *y = device_count<float>(4), alpha = 1, beta = 0;
    double *z = device_count<double>(4), one = 1, none = 0;
    EXPECT(cublasCreate(&h) == good);
    EXPECT(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, x, CUDA_R_32F, 2, x,
                        CUDA_R_32F, 3, &beta, y, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == good);
    auto r = to_host(y, 4);
    EXPECT(r[0] == 10 && r[1] == 13 && r[2] == 28 && r[3] == 40);
    EXPECT(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 2, &one, z + 1, CUDA_R_64F, 1, z + 1,
                        CUDA_R_64F, 2, &none, z, CUDA_R_64F, 1, CUBLAS_COMPUTE_64F,
                        CUBLAS_GEMM_DEFAULT) == good);
    EXPECT(to_host(z, 1)[0] == 5);
    EXPECT(cublasDestroy(h) == good);
    cudaFree(x), cudaFree(y), cudaFree(z);
}
// C = 2 A' B + C of halves, C in float or in half; the same in bfloat16, which rounds.
RIGHT(gemm_of_halves) {
    std::vector<half> a, b;
    std::vector<__nv_bfloat16> brain;
    for (int i = 0; i < 12; i++) {
        a.push_back(__float2half((float)(i - 3)));
        b.push_back(__float2half(0.5f * (float)i));
        brain.push_back(__float2bfloat16((float)(i + 12)));
    }
    half *da, *db, *dh;
    __nv_bfloat16 *dx;
    float alpha = 2, beta = 1, none = 0, *c = device_count<float>(4);
    cudaMalloc(&da, 12 * sizeof *da), cudaMalloc(&db, 12 * sizeof *db);
    cudaMalloc(&dh, 4 * sizeof *dh), cudaMalloc(&dx, 12 * sizeof *dx);
    cudaMemcpy(da, a.data(), 12 * sizeof *da, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), 12 * sizeof *db, cudaMemcpyHostToDevice);
    cudaMemcpy(dx, brain.data(), 12 * sizeof *dx, cudaMemcpyHostToDevice);
    cublasHandle_t h;
    EXPECT(cublasCreate(&h) == good);
    EXPECT(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 3, &alpha, da, CUDA_R_16F, 4, db,
                        CUDA_R_16F, 4, &beta, c, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT_TENSOR_OP) == good);
    auto r = to_host(c, 4); // columns of A: -3 -2 -1 and 1 2 3, of B: 0 .5 1 and 2 2.5 3
    EXPECT(r[0] == -4 && r[1] == 9 && r[2] == -26 && r[3] == 35);
    half one = __float2half(1.0f), zero = __float2half(0.0f), halves[4];
    EXPECT(cublasHgemm(h, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 3, &one, da, 4, db, 4, &zero, dh, 2) ==
           good);
    cudaMemcpy(halves, dh, sizeof halves, cudaMemcpyDeviceToHost);
    EXPECT((float)halves[0] == -2 && (float)halves[3] == 16);
    EXPECT(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 12, &alpha, dx, CUDA_R_16BF, 1, dx,
                        CUDA_R_16BF, 12, &none, dx, CUDA_R_16BF, 1, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == good);
    cudaMemcpy(brain.data(), dx, sizeof *dx, cudaMemcpyDeviceToHost);
    EXPECT((float)brain[0] == 7648); // of 7636: ulps of 32
    EXPECT(cublasDestroy(h) == good);
    cudaFree(da), cudaFree(db), cudaFree(dh), cudaFree(dx), cudaFree(c);
}
WRONG(gemm_of_short_halves) {
    half *x;
    float *c = device_count<float>(4), one = 1, zero = 0;
    cudaMalloc(&x, 5 * sizeof *x);
    cudaMemset(x, 0, 5 * sizeof *x);
    cublasHandle_t h;
    cublasCreate(&h);
    auto product = [&] {
        return cublasGemmEx( // wrong gemm_of_short_halves: copy-size
            h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, x, CUDA_R_16F, 2, x, CUDA_R_16F, 3, &zero,
            c, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    };
    EXPECT(product() != good);
    cublasDestroy(h), cudaFree(x), cudaFree(c);
}
WRONG(gemm_of_unlike_types) {
    cublasHandle_t h;
    float *x = device_count<float>(6), alpha = 1, beta = 0;
    auto float_in_half_out = [&] {
        return cublasGemmEx( // wrong gemm_of_unlike_types: blas-argument
            h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &beta,
            x, CUDA_R_16F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    };
    EXPECT(cublasCreate(&h) == good);
    EXPECT(float_in_half_out() == CUBLAS_STATUS_NOT_SUPPORTED);
    EXPECT(cublasDestroy(h) == good);
    cudaFree(x);
}
