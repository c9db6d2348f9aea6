/* hostcuda/kernel.h: what is seen within a kernel, and how one is launched. */
#ifndef HOSTCUDA_KERNEL_H
#define HOSTCUDA_KERNEL_H

#include <type_traits>
#include <utility>

#include "hostcuda/switch.h"
#include "hostcuda/types.h"

/* Variables, no macros: host code may have a blockDim of its own, and most courses' does. */
HC_BUILT_IN(const uint3, threadIdx);
HC_BUILT_IN(const uint3, blockIdx);
HC_BUILT_IN(const dim3, blockDim);
HC_BUILT_IN(const dim3, gridDim);
static constexpr int warpSize = 32;

#define HC_HERE const char *hc_file = __builtin_FILE(), int hc_line = __builtin_LINE()

static inline __attribute__((always_inline)) void hc_sync(const char *file, int line) {
    hc_turn turn = hc_arrive(file, line);
#ifdef __x86_64__
    if (turn.to) hc_switch(turn.from, turn.to);
#else
    (void)turn;
#endif
}

#define __syncthreads()        hc_sync(__FILE__, __LINE__)
#define __syncthreads_count(p) hc_barrier(HC_COUNT, (p) != 0, __FILE__, __LINE__)
#define __syncthreads_and(p)   hc_barrier(HC_AND, (p) != 0, __FILE__, __LINE__)
#define __syncthreads_or(p)    hc_barrier(HC_OR, (p) != 0, __FILE__, __LINE__)
#define __trap()               hc_trap(__FILE__, __LINE__)
#define __threadfence()        __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_block()  __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __nanosleep(ns)        ((void)(ns))
#define clock64()              hc_clock()

#define HC_NAME(name) #name
#ifdef HOSTCUDA_CHECK
#define HC_STATIC_LOCAL(variable) hc_check_static(&(variable), sizeof(variable))
#else
#define HC_STATIC_LOCAL(variable) ((void)0)
#endif

#define HC_SITE(name)                                                                              \
    ::hc::launch_site {                                                                            \
        name, { __FILE__, __LINE__ }                                                               \
    }

namespace hc {

struct launch_site {
    const char *kernel;
    hc_site site;
};

/* `extern __shared__ T s[];` at file scope: turns into the running block's pointer when used. */
template <class T> struct dynamic_shared {
    operator T *() const { return static_cast<T *>(hc_dynamic_shared()); }
    template <class U> explicit operator U *() const {
        return reinterpret_cast<U *>(hc_dynamic_shared());
    }
};

/* Only pointers to data are looked at: a function pointer is a host address by right. */
template <class T> void note_pointer(hc_launch &launch, int position, const T &argument) {
    if constexpr (std::is_pointer_v<T>) {
        if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) {
            if (launch.pointer_count == HC_POINTERS_MAX) return;
            launch.pointers[launch.pointer_count] =
                const_cast<const void *>(reinterpret_cast<const volatile void *>(argument));
            launch.positions[launch.pointer_count++] = position;
        }
    }
    (void)launch, (void)position, (void)argument;
}

/* `run` calls the kernel with its arguments, of which it holds copies. A closure, not a std::tuple:
 * a compiler spends as long on that as on the kernels of a file. */
template <class... P, class C> cudaError_t launch_call(hc_launch &launch, C &run, const P &...a) {
    static_assert(
        ((std::is_trivially_copy_constructible_v<P> && std::is_trivially_destructible_v<P>)&&...),
        "a kernel's argument must be a plain value that can be copied byte by byte");
    int position = 0;
    (note_pointer(launch, ++position, a), ...);
    launch.run = [](void *self) { (*static_cast<C *>(self))(); };
    if (launch.deduced) launch.entry = reinterpret_cast<const void *>(launch.run);
    launch.arguments = &run;
    launch.argument_bytes = sizeof run;
    (void)position;                   /* unused without arguments */
    return hc_launch_kernel(&launch); /* the error is also kept for cudaGetLastError */
}

inline hc_launch configure(launch_site at, dim3 grid, dim3 block, size_t shared, hc_stream stream) {
    hc_launch launch = {};
    launch.kernel = at.kernel;
    launch.site = at.site;
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared = shared;
    launch.stream = stream;
    return launch;
}

/* A kernel that one address names: its arguments are converted to the parameters' types. */
template <class... P> struct launcher {
    hc_launch launch;
    void (*function)(P...);
    cudaError_t operator()(P... arguments) {
        auto run = [f = function, arguments...]() mutable { f(arguments...); };
        return launch_call(launch, run, arguments...);
    }
};

/* The names are ours alone: a student's macro may have a parameter called `kernel`. */
template <class... P>
launcher<P...> hc_kernel(launch_site at, void (*function)(P...), dim3 grid, dim3 block,
                         size_t shared = 0, hc_stream stream = nullptr) {
    launcher<P...> l{configure(at, grid, block, shared, stream), function};
    l.launch.entry = reinterpret_cast<const void *>(function);
    return l;
}

/* A template whose arguments are deduced from the launch's. */
template <class F> struct deduced_launcher {
    hc_launch launch;
    F function;
    template <class... A> void operator()(A... arguments) {
        auto run = [f = function, arguments...]() mutable { f(arguments...); };
        launch.deduced = true;
        launch_call(launch, run, arguments...);
    }
};

template <class F>
deduced_launcher<F> hc_deduced_kernel(launch_site at, F function, dim3 grid, dim3 block,
                                      size_t shared = 0, hc_stream stream = nullptr) {
    deduced_launcher<F> l{configure(at, grid, block, shared, stream), function};
    return l;
}

/* cudaLaunchKernel: one pointer to each argument, of its parameter's very type. */
template <class... P, size_t... I>
cudaError_t launch_array(launcher<P...> &l, void **arguments, std::index_sequence<I...>) {
    (void)arguments; /* unused without parameters */
    return l(*static_cast<P *>(arguments[I])...);
}

/* noted{"k"} ->* k is what the rewriter makes of (void *)k for a kernel k: its address, by which
 * the runtime knows from now on how to launch it. */
struct noted {
    const char *name;
};
template <class... P> void *operator->*(noted n, void (*kernel)(P...)) {
    hc_note_kernel(reinterpret_cast<const void *>(kernel), n.name,
                   [](const hc_launch *launch, void **arguments) {
                       launcher<P...> l{*launch, reinterpret_cast<void (*)(P...)>(
                                                     const_cast<void *>(launch->entry))};
                       return launch_array(l, arguments, std::index_sequence_for<P...>());
                   });
    return reinterpret_cast<void *>(kernel);
}

} // namespace hc
#endif
