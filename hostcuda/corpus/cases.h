/* cases.h: how a case of the corpus is written.
 *
 * RIGHT(name) { … }   nothing may be reported, and every EXPECT must hold
 * WRONG(name) { … }   one mistake, on the line that ends in the comment  // wrong name: kind
 *                     (kind, kind: two messages about one line, in this order);
 *                     a line // likely name: words   has words of the message
 *
 * Each case runs in a process of its own (runner.cpp). With CORPUS_ON_GPU nvcc builds the same
 * cases for a GPU (gpu_runner.cpp); what they read back is compared between the two (results.h). */
#ifndef HOSTCUDA_CASES_H
#define HOSTCUDA_CASES_H

#include <cuda_runtime.h>

#include <cmath>
#include <type_traits>
#include <vector>

struct corpus_case {
    const char *name, *file;
    bool right;
    void (*run)();
    corpus_case *next;
};
extern corpus_case *corpus;

struct corpus_entry : corpus_case {
    corpus_entry(const char *n, const char *f, bool r, void (*c)())
        : corpus_case{n, f, r, c, corpus} {
        corpus = this;
    }
};

#define CORPUS_CASE(name, right)                                                                   \
    static void case_##name();                                                                     \
    static corpus_entry entry_##name(#name, __FILE__, right, case_##name);                         \
    static void case_##name()
#define RIGHT(name) CORPUS_CASE(name, true)
#define WRONG(name) CORPUS_CASE(name, false)

void corpus_failed(const char *file, int line, const char *text);
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) corpus_failed(__FILE__, __LINE__, #condition);                           \
    } while (0)

/* What hostcuda shows and CUDA leaves open: a GPU is not asked, and the results may differ. */
void corpus_open();
#ifdef CORPUS_ON_GPU
#define EXPECT_HERE(condition)                                                                     \
    do {                                                                                           \
        corpus_open();                                                                             \
        (void)sizeof(!(condition));                                                                \
    } while (0)
/* The runner tells which error a case met: these two would hide it. */
cudaError_t corpus_error_taken(cudaError_t error);
cudaError_t corpus_reset();
#define cudaGetLastError() corpus_error_taken(cudaGetLastError())
#define cudaDeviceReset()  corpus_reset()
#else
#define EXPECT_HERE(condition)                                                                     \
    do {                                                                                           \
        corpus_open();                                                                             \
        EXPECT(condition);                                                                         \
    } while (0)
#endif

/* A case is watched as a student's file is, and so are its calls by an address (check/calls.c):
 * this one goes to the runtime, as a program that counts does. */
#if defined __x86_64__ && !defined __clang__
#define OUTSIDE __attribute__((noinline, indirect_branch("keep")))
#else
#define OUTSIDE __attribute__((noinline))
#endif
template <class F, class... T> OUTSIDE static auto outside(F function, T... arguments) {
    return function(arguments...);
}

/* n elements on the device, filled with 0, 1, 2, … */
template <class T> static inline T *device_count(int n) {
    std::vector<T> host(n);
    for (int i = 0; i < n; i++) host[i] = (T)i;
    T *device = nullptr;
    EXPECT(cudaMalloc(&device, n * sizeof(T)) == cudaSuccess);
    EXPECT(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    return device;
}

/* How far two right sums of this many rounded terms may lie apart: twice gamma_n times the sum of
 * the terms' magnitudes, for the order of the terms and fused operations are the device's own. */
template <class T> static inline double apart(int terms, double magnitude) {
    double error = terms * (sizeof(T) == 4 ? ldexp(1, -24) : ldexp(1, -53));
    return 2 * error / (1 - error) * magnitude;
}

/* Notes n values as a result of the case; within(i): how far apart two devices may lie there. */
void corpus_result(bool floating, size_t size, const void *values, int n, const double *within);
template <class T, class F> static inline void note_result(const T *values, int n, F within) {
    std::vector<double> bounds(n);
    for (int i = 0; i < n; i++) bounds[i] = within(i);
    corpus_result(std::is_floating_point<T>::value, sizeof(T), values, n, bounds.data());
}

/* Every buffer that comes back is a result: equal on every device, if `within` allows no more. */
template <class T, class F> static inline std::vector<T> to_host(const T *device, int n, F within) {
    std::vector<T> host(n);
    EXPECT(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    note_result(host.data(), n, within);
    return host;
}
template <class T> static inline std::vector<T> to_host(const T *device, int n) {
    return to_host(device, n, [](int) { return 0.0; });
}

#endif
