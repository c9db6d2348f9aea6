// sectors.cu: kernels of the course, and some written for it, each launched once with one shape:
// what hostcuda counts of them is held against what Nsight Compute counts on a GPU
// (tests/sectors/sectors.py).
//
// Called with `products SIZE`: square matrix products of that size instead (products.cuh); with
// `reductions`: sums (reductions.cuh).
//
// Prints a line of JSON for each case: its name and how many kernels it launches, so that a
// profiler's list of launches can be cut into cases; in hostcuda's CHECK=1 build also what was
// counted.
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <mma.h>

#include "hostcuda/corpus/lockstep.cuh"
#include "kernels/device.h"
#include "kernels/gemm/tensor_copier.h"
#include "kernels/reduce/05_vectors.h"
#include "kernels/tensor_tile.h"
#include "tl/conv2d.h"
#include "tl/conv3x3.h"
#include "tl/cuda.h"
#include "tl/data.h"
#include "tl/elementwise.h"
#include "tl/layers.h"
#include "tl/matmul.h"
#include "tl/optim.h"
#include "tl/reduce.h"
#include "tl/rng.h"
#ifdef HOSTCUDA_CHECK
#include "hostcuda/include/hostcuda/counts.h"
#endif

// Each file in a namespace of its own: their kernels and constants have common names.
namespace elementwise {
#include "solution/lab1/elementwise.cu"
}
namespace matmul {
#include "solution/lab1/matmul.cu"
}
namespace transpose {
#include "solution/lab1/transpose.cu"
}
namespace reduce {
#include "solution/lab1/reduce.cu"
}
namespace im2col {
#include "solution/lab2/im2col.cu"
}
namespace col2im {
#include "solution/lab2/col2im.cu"
}
namespace maxpool {
#include "solution/lab3/maxpool2d.cu"
}
namespace softmax {
#include "solution/lab3/softmax_xent.cu"
}
namespace dropout {
#include "solution/lab3/dropout.cu"
}
namespace augment {
#include "solution/lab5/augment.cu"
}
namespace adam {
#include "solution/lab5/adam.cu"
}
namespace conv3x3 {
#include "solution/lab5/conv3x3.cu"
}
namespace conv3x3_given {
#include "labs/lab5/conv3x3.cu"
}
namespace gemm1 {
#include "kernels/gemm/01_naive.cu"
}
namespace gemm2 {
#include "kernels/gemm/02_coalesced.cu"
}
namespace gemm3 {
#include "kernels/gemm/03_tile.cu"
}
namespace gemm4 {
#include "kernels/gemm/04_registers.cu"
}
namespace gemm5 {
#include "kernels/gemm/05_vectors.cu"
}
namespace gemm6 {
#include "kernels/gemm/06_warp_tile.cu"
}
namespace gemm7 {
#include "kernels/gemm/07_tensor_tf32.cu"
}
namespace gemm8 {
#include "kernels/gemm/08_tensor_bf16.cu"
}
namespace gemm11 {
#include "kernels/gemm/11_tensor_tf32x3.cu"
}
namespace gemm12 {
#include "kernels/gemm/12_tensor_fp16.cu"
}
namespace reduce1 {
#include "kernels/reduce/01_naive.cu"
}
namespace reduce2 {
#include "kernels/reduce/02_tree.cu"
}
namespace reduce3 {
#include "kernels/reduce/03_shuffle.cu"
}
namespace reduce4 {
#include "kernels/reduce/04_columns.cu"
}
namespace reduce5 {
#include "kernels/reduce/05_vectors.cu"
}
namespace reduce6 {
#include "kernels/reduce/06_blocks.cu"
}

// ---- what the course's files want of the library ----

static void fail(const char *file, int line, const char *text) {
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
    exit(1);
}
tl_status tl_fail(tl_status, const char *file, int line, const char *format, ...) {
    char text[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(file, line, text);
    return TL_OK;
}
/* The shapes here are right, and no check of one is counted. */
tl_status tl_pool2d_checked(const tl_pool2d_geom *) { return TL_OK; }
tl_status tl_linear_check(const tl_linear_geom *) { return TL_OK; }

tl_status tl_cuda_failed(cudaError_t error, const char *file, int line, const char *) {
    fail(file, line, cudaGetErrorString(error));
    return TL_OK;
}
/* (for sizes beyond an int's alone) */
tl_status tl_gemm(tl_ctx *, tl_real *, const tl_real *, const tl_real *, const tl_matmul_geom *) {
    fail(__FILE__, __LINE__, "a rung has not taken the product");
    return TL_OK;
}
uint32_t tl_dropout_threshold(double p) { return (uint32_t)floor(ldexp(p, 32)); }

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) fail(__FILE__, __LINE__, cudaGetErrorString(error_));           \
    } while (0)

// ---- arrays ----

static std::vector<void *> arrays; // of the running case

template <class T, class F> static T *device(size_t n, F value) {
    std::vector<T> host(n);
    for (size_t i = 0; i < n; i++) host[i] = (T)value((int)i);
    void *to;
    CHECK(cudaMalloc(&to, n * sizeof(T)));
    CHECK(cudaMemcpy(to, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    arrays.push_back(to);
    return (T *)to;
}
// 0 … 12 in a fixed disorder: what kernels decide by is the same on every device.
static int disorder(int i) { return (int)((unsigned)i * 2654435761u >> 7) % 13; }
template <class T = tl_real> static T *some(size_t n) { return device<T>(n, disorder); }
template <class T = tl_real> static T *zeros(size_t n) {
    return device<T>(n, [](int) { return 0; });
}

static tl_ctx ctx;
static tl_step *some_step() {
    tl_step host = {7, 3, 1, 5, 0.01};
    void *to;
    CHECK(cudaMalloc(&to, sizeof host));
    CHECK(cudaMemcpy(to, &host, sizeof host, cudaMemcpyHostToDevice));
    arrays.push_back(to);
    return (tl_step *)to;
}
static unsigned blocks_of(int n, int threads) { return (unsigned)((n - 1) / threads + 1); }

// ---- cases ----

typedef struct sectors_case {
    const char *name;
    int kernels; // that it launches
    void (*run)();
} sectors_case;

enum { N = 5003 }; // no multiple of anything
static tl_conv2d_geom geom_of_columns() {
    tl_conv2d_geom g = {};
    g.n = 2, g.c = 3, g.h = 13, g.w = 19, g.k = 1, g.r = 3, g.s = 3;
    g.stride_h = 2, g.stride_w = 1, g.pad_h = 1, g.pad_w = 2, g.dil_h = 1, g.dil_w = 2;
    g.p = (g.h + 2 * g.pad_h - g.dil_h * (g.r - 1) - 1) / g.stride_h + 1;
    g.q = (g.w + 2 * g.pad_w - g.dil_w * (g.s - 1) - 1) / g.stride_w + 1;
    return g;
}
static size_t columns_of(const tl_conv2d_geom &g) {
    return (size_t)g.c * g.r * g.s * g.n * g.p * g.q;
}
static tl_pool2d_geom geom_of_windows() {
    tl_pool2d_geom g = {};
    g.n = 2, g.c = 3, g.h = 15, g.w = 21, g.r = 3, g.s = 3;
    g.stride_h = g.stride_w = 2, g.pad_h = g.pad_w = 1;
    g.p = (g.h + 2 * g.pad_h - g.r) / g.stride_h + 1;
    g.q = (g.w + 2 * g.pad_w - g.s) / g.stride_w + 1;
    return g;
}
static tl_matmul_geom geom_of_product(bool turned) {
    tl_matmul_geom g = {};
    g.m = 70, g.n = 100, g.k = 50, g.trans_a = g.trans_b = turned;
    return g;
}

static void run_product(bool turned) {
    tl_matmul_geom g = geom_of_product(turned);
    matmul::tl_matmul(&ctx, zeros(g.m * g.n), some(g.m * g.k), some(g.k * g.n), &g);
}
static tl_conv3x3_geom geom_of_convolution = tl_conv3x3_counted;
static void run_convolution(decltype(tl_conv3x3) convolve) {
    tl_conv3x3_geom g = geom_of_convolution;
    convolve(&ctx, zeros(g.n * g.k * g.h * g.w), some(g.n * g.c * g.h * g.w), some(g.k * g.c * 9),
             &g);
}
static void run_pool(bool backward) {
    tl_pool2d_geom g = geom_of_windows();
    size_t inputs = (size_t)g.n * g.c * g.h * g.w, outputs = (size_t)g.n * g.c * g.p * g.q;
    int pixels = g.h * g.w;
    if (backward)
        maxpool::tl_maxpool2d_bwd(
            &ctx, zeros(inputs), some(outputs),
            device<int32_t>(outputs, [=](int i) { return disorder(i) * 7 % pixels; }), &g);
    else
        maxpool::tl_maxpool2d_fwd(&ctx, zeros(outputs), zeros<int32_t>(outputs), some(inputs), &g);
}
static void run_batch() {
    tl_device_split split = {
        11, 3, 10, 14, 13, some<uint8_t>(11 * 420), some<uint8_t>(11), some(3 * 256)};
    tl_batch_geom g = {6, 1, 1, 2};
    augment::tl_batch_load(&ctx, zeros(6 * 420), zeros<int32_t>(6), &split, some_step(), &g);
}
static void run_sparse() {
    enum { ROWS = 300 };
    auto elements = [](int i) { return disorder(i) * disorder(i + 1) % 23; };
    std::vector<int> row(ROWS + 1);
    for (int i = 0; i < ROWS; i++) row[i + 1] = row[i] + elements(i);
    size_t all = (size_t)row[ROWS];
    sparse_product<<<blocks_of(ROWS, 128), 128>>>(
        zeros<float>(ROWS), device<int>(ROWS + 1, [&](int i) { return row[i]; }),
        device<int>(all, [](int i) { return disorder(i) * 23 % ROWS; }), some<float>(all),
        some<float>(ROWS), ROWS);
}

static const sectors_case cases[] = {
    // of the course
    {"add", 1, [] { elementwise::tl_add(&ctx, zeros(N), some(N), some(N), N); }},
    {"axpy", 1, [] { elementwise::tl_axpy(&ctx, zeros(N), some(N), N, 2); }},
    {"matmul", 1, [] { run_product(false); }},
    {"matmul_turned", 1, [] { run_product(true); }},
    {"transpose", 1, [] { transpose::tl_transpose(&ctx, zeros(7000), some(7000), 70, 100); }},
    {"sum", 1, [] { reduce::tl_sum(&ctx, zeros(1), some(N), N); }},
    {"sum_rows", 1, [] { reduce::tl_sum_rows(&ctx, zeros(70), some(7000), 100, 70); }},
    {"sum_cols", 1, [] { reduce::tl_sum_cols(&ctx, zeros(30), some(9000), 30, 300); }},
    {"argmax_cols", 1,
     [] { reduce::tl_argmax_cols(&ctx, zeros<int32_t>(30), some(9000), 30, 300); }},
    {"im2col", 1,
     [] {
         tl_conv2d_geom g = geom_of_columns();
         im2col::tl_im2col(&ctx, zeros(columns_of(g)), some(g.n * g.c * g.h * g.w), g.n, &g);
     }},
    {"col2im", 1,
     [] {
         tl_conv2d_geom g = geom_of_columns();
         col2im::tl_col2im(&ctx, zeros(g.n * g.c * g.h * g.w), some(columns_of(g)), g.n, &g);
     }},
    {"maxpool2d_fwd", 1, [] { run_pool(false); }},
    {"maxpool2d_bwd", 1, [] { run_pool(true); }},
    {"softmax_xent_fwd", 2,
     [] {
         softmax::tl_softmax_xent_fwd(&ctx, zeros(1), zeros(50), zeros(50 * 45), some(50 * 45),
                                      some<int32_t>(50), 50, 45);
     }},
    {"softmax_xent_bwd", 1,
     [] {
         softmax::tl_softmax_xent_bwd(&ctx, zeros(50 * 45), some(1), some(50 * 45),
                                      some<int32_t>(50), 50, 45);
     }},
    {"dropout_fwd", 1,
     [] {
         tl_dropout_geom g = {N, 0.4, 1};
         dropout::tl_dropout_fwd(&ctx, zeros(N), some(N), some_step(), &g);
     }},
    {"batch_load", 1, run_batch},
    {"adam", 1,
     [] {
         tl_adam_options o = {0.9, 0.999, 1e-8, 0.01};
         adam::tl_adam_step(&ctx, some(N), some(N), some(N), some(N), N, some_step(), &o);
     }},
    {"conv3x3", 1, [] { run_convolution(conv3x3::tl_conv3x3); }},
    {"conv3x3_given", 1, [] { run_convolution(conv3x3_given::tl_conv3x3); }},
    // written for it (lockstep.cuh)
    {"copy_apart", 1,
     [] { copy_apart<<<20, 256>>>(zeros<float>(N), some<float>(3 * N + 1), N, 3, 1); }},
    {"copy_in_small_blocks", 1,
     [] { copy_apart<<<105, 48>>>(zeros<float>(N), some<float>(N + 1), N, 1, 1); }},
    {"copy_vectors", 1,
     [] {
         copy_vectors<<<5, 256>>>((float4 *)zeros<float>(4 * 1200), (float4 *)some<float>(4 * 1200),
                                  1200);
     }},
    {"turn_bytes", 1,
     [] { turn_bytes<<<20, 256>>>(zeros<unsigned char>(N), some<unsigned char>(N), N); }},
    {"transpose_plainly", 1,
     [] {
         transpose_plainly<<<dim3(7, 9), dim3(16, 8)>>>(zeros<float>(7000), some<float>(7000), 70,
                                                        100);
     }},
    {"multiply_plainly", 1,
     [] {
         multiply_plainly<<<dim3(7, 5), dim3(16, 16)>>>(zeros<float>(7000), some<float>(70 * 40),
                                                        some<float>(40 * 100), 70, 100, 40);
     }},
    {"multiply_tiles", 1,
     [] {
         multiply_tiles<<<dim3(7, 5), dim3(16, 16)>>>(zeros<float>(7000), some<float>(70 * 40),
                                                      some<float>(40 * 100), 70, 100, 40);
     }},
    {"even_and_odd", 1, [] { even_and_odd<<<20, 256>>>(zeros<float>(N), some<float>(N), N); }},
    {"smooth", 1, [] { smooth<<<20, 256>>>(zeros<float>(N), some<float>(N), N); }},
    {"one_of_four", 1,
     [] {
         one_of_four<<<20, 256>>>(zeros<float>(N), some<float>(N), some<float>(N),
                                  device<int>(N, [](int i) { return disorder(i) % 4; }), N);
     }},
    {"either_or", 1,
     [] { either_or<<<20, 256>>>(zeros<float>(2 * N), some<float>(N), some<float>(N), N); }},
    {"calls", 1,
     [] { calls<<<9, 128>>>(zeros<float>(1000), some<float>(1000), some<float>(1000), 1000); }},
    {"triangle", 1, [] { triangle<<<3, 64>>>(zeros<float>(150), some<float>(150 * 150), 150); }},
    {"sparse_product", 1, run_sparse},
    {"sum_of_some", 1,
     [] { sum_of_some<<<5, 128>>>(zeros<float>(600), some<float>(600 * 40), 40, 600); }},
    {"window_without_border", 1,
     [] { window_without_border<<<5, 192>>>(zeros<float>(900), some<float>(900), 20, 45); }},
    {"first_above", 1,
     [] {
         first_above<<<5, 128>>>(zeros<int>(1200), some<float>(600 * 30),
                                 device<float>(600, [](int i) { return 6 + disorder(i) % 7; }), 30,
                                 600);
     }},
    {"bisect", 1,
     [] {
         bisect<<<5, 128>>>(zeros<int>(600), device<float>(700, [](int i) { return i; }),
                            device<float>(600, [](int i) { return disorder(i) * 53; }), 700, 600);
     }},
    {"collatz", 1,
     [] {
         collatz<<<2, 64>>>(zeros<int>(500), device<int>(500, [](int i) { return 1 + i; }), 500);
     }},
};

#include "tests/sectors/products.cuh"
#include "tests/sectors/reductions.cuh"
#include "tests/sectors/convolutions.cuh"

// ---- counting ----

#ifdef HOSTCUDA_CHECK
static void print_counts(const sectors_case *c) {
    const hostcuda_counts *counts = hostcuda_counts_get();
    hostcuda_kernel_counts kernel[8] = {}, sum = {};
    int n = counts->kernels(kernel, 8);
    for (int i = 0; i < n && i < 8; i++) {
        sum.launches += kernel[i].launches;
        sum.global_load_sectors += kernel[i].global_load_sectors;
        sum.global_store_sectors += kernel[i].global_store_sectors;
        sum.global_load_requests += kernel[i].global_load_requests;
        sum.global_store_requests += kernel[i].global_store_requests;
        sum.shared_requests += kernel[i].shared_requests;
        sum.bank_conflicts += kernel[i].bank_conflicts;
    }
    if (sum.launches != (uint64_t)c->kernels) fail(__FILE__, __LINE__, c->name);
    printf(", \"load_sectors\": %llu, \"store_sectors\": %llu, \"load_requests\": %llu, "
           "\"store_requests\": %llu, \"shared_requests\": %llu, \"bank_conflicts\": %llu",
           (unsigned long long)sum.global_load_sectors,
           (unsigned long long)sum.global_store_sectors,
           (unsigned long long)sum.global_load_requests,
           (unsigned long long)sum.global_store_requests, (unsigned long long)sum.shared_requests,
           (unsigned long long)sum.bank_conflicts);
}
static void begin_counting() {
    hostcuda_counts_get()->reset();
    hostcuda_counts_get()->count_memory(true);
}
#else
static void print_counts(const sectors_case *) {}
static void begin_counting() {}
#endif

static void run_case(const sectors_case &c) {
    CHECK(cudaDeviceSynchronize());
    begin_counting();
    c.run();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    printf("{\"case\": \"%s\", \"kernels\": %d", c.name, c.kernels);
    print_counts(&c);
    printf("}\n");
    for (void *array : arrays) CHECK(cudaFree(array));
    arrays.clear();
}

int main(int count, char **arguments) {
    if (count > 2 && strcmp(arguments[1], "products") == 0) {
        size_of_product = atoi(arguments[2]);
        for (const sectors_case &c : products) run_case(c);
        return 0;
    }
    if (count == 2 && strcmp(arguments[1], "reductions") == 0) {
        for (const sectors_case &c : reductions) run_case(c);
        return 0;
    }
    if (count >= 2 && strcmp(arguments[1], "convolutions") == 0) {
        if (count == 5) {
            tl_conv3x3_geom *g = &geom_of_convolution;
            g->n = atoi(arguments[2]), g->c = atoi(arguments[3]), g->k = atoi(arguments[4]);
        }
        for (const sectors_case &c : convolutions) run_case(c);
        return 0;
    }
    for (const sectors_case &c : cases)
        if (count == 1 || strcmp(arguments[1], c.name) == 0) run_case(c);
    return 0;
}
