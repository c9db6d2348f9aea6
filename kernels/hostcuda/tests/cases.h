/* cases.h: how a case of the corpus is written.
 *
 * RIGHT(name) { … }   nothing may be reported, and every EXPECT must hold
 * WRONG(name) { … }   one mistake, on the line that ends in the comment  // wrong name: kind
 *
 * Each case runs in a process of its own (runner.cpp). */
#ifndef HOSTCUDA_CASES_H
#define HOSTCUDA_CASES_H

#include <cuda_runtime.h>

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

/* n elements on the device, filled with 0, 1, 2, … */
template <class T> static inline T *device_count(int n) {
    std::vector<T> host(n);
    for (int i = 0; i < n; i++) host[i] = (T)i;
    T *device = nullptr;
    EXPECT(cudaMalloc(&device, n * sizeof(T)) == cudaSuccess);
    EXPECT(cudaMemcpy(device, host.data(), n * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
    return device;
}

template <class T> static inline std::vector<T> to_host(const T *device, int n) {
    std::vector<T> host(n);
    EXPECT(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
}

#endif
