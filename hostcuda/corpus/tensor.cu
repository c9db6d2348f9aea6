// tensor.cu: nvcuda::wmma against plain loops: every type, layouts, scaled accumulators.
#include "cases.h"

#include <mma.h>

using namespace nvcuda;
static constexpr auto by_rows = wmma::mem_row_major;

// C = A B + C, M x N x K multiples of the fragments; one warp for each part of C.
template <int M, int N, int K, class T, class A, class B, class C, class V>
__global__ void product(C *c, const V *a, const V *b, int n, int k, int lda, int ldb) {
    int row = (int)blockIdx.y * M, column = ((int)threadIdx.x / 32 + (int)blockIdx.x * 2) * N;
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> in_a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> in_b;
    wmma::fragment<wmma::accumulator, M, N, K, C> sum;
    wmma::load_matrix_sync(sum, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += K) {
        bool columns_a = std::is_same<A, wmma::col_major>::value;
        bool columns_b = std::is_same<B, wmma::col_major>::value;
        wmma::load_matrix_sync(in_a, a + (columns_a ? i * lda + row : row * lda + i), lda);
        wmma::load_matrix_sync(in_b, b + (columns_b ? column * ldb + i : i * ldb + column), ldb);
        wmma::mma_sync(sum, in_a, in_b, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] + sum.x[i];
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

template <class T> static std::vector<T> small_numbers(int n, int from) {
    std::vector<T> x;
    for (int i = 0; i < n; i++) x.push_back(T((float)((i * 7 + from) % 11 - (from > 5 ? 0 : 5))));
    return x;
}
template <class T> static T *device_of(const std::vector<T> &host) {
    T *p = nullptr;
    EXPECT(cudaMalloc(&p, host.size() * sizeof(T)) == cudaSuccess);
    cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
static double number(float x) { return x; }

template <int M, int N, int K, class T, class A, class B, class C, class V>
static void check_product() {
    int m = 2 * M, n = 2 * N, k = 2 * K;
    bool columns_a = std::is_same<A, wmma::col_major>::value;
    bool columns_b = std::is_same<B, wmma::col_major>::value;
    auto a = small_numbers<V>(m * k, 1), b = small_numbers<V>(k * n, 8);
    auto c = small_numbers<C>(m * n, 3);
    V *da = device_of(a), *db = device_of(b);
    C *dc = device_of(c);
    int lda = columns_a ? m : k, ldb = columns_b ? k : n;
    product<M, N, K, T, A, B, C, V><<<dim3(1, 2), 64>>>(dc, da, db, n, k, lda, ldb);
    std::vector<C> out(m * n);
    EXPECT(cudaMemcpy(out.data(), dc, m * n * sizeof(C), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = number((float)c[i * n + j]);
            for (int l = 0; l < k; l++)
                sum += number((float)a[columns_a ? l * m + i : i * k + l]) *
                       number((float)b[columns_b ? j * k + l : l * n + j]);
            EXPECT(number((float)out[i * n + j]) == 2 * sum);
        }
    cudaFree(da), cudaFree(db), cudaFree(dc);
}
RIGHT(wmma_halves) {
    check_product<16, 16, 16, half, wmma::row_major, wmma::row_major, float, half>();
    check_product<16, 16, 16, half, wmma::col_major, wmma::row_major, half, half>();
    check_product<32, 8, 16, half, wmma::row_major, wmma::col_major, float, half>();
    check_product<8, 32, 16, half, wmma::col_major, wmma::col_major, float, half>();
}
RIGHT(wmma_types) {
    typedef wmma::row_major row;
    typedef wmma::col_major col;
    check_product<16, 16, 16, __nv_bfloat16, row, col, float, __nv_bfloat16>();
    check_product<16, 16, 16, signed char, row, col, int, signed char>();
    check_product<16, 16, 8, wmma::precision::tf32, row, row, float, float>();
    check_product<8, 8, 4, double, row, col, double, double>();
}

// What a tf32 keeps: 10 bits, rounded to the nearest if asked for, else cut.
__global__ void tf32_of(float *out, float x) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::fill_fragment(b, 0.125f);
    wmma::fill_fragment(a, x);
    wmma::mma_sync(sum, a, b, sum);
    if (threadIdx.x == 0) out[0] = sum.x[0];
    for (int i = 0; i < a.num_elements; i++) a.x[i] = wmma::__float_to_tf32(a.x[i]);
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, a, b, sum);
    if (threadIdx.x == 0) out[1] = sum.x[0];
}
RIGHT(wmma_tf32) {
    float *out = device_count<float>(2);
    tf32_of<<<1, 32>>>(out, 1.0f + 0x1.8p-11f);
    auto h = to_host(out, 2);
    EXPECT(h[0] == 1.0f && h[1] == 1.0f + 0x1p-10f);
    cudaFree(out);
}

__global__ void odd_rows(float *c, int leading) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(c, sum, leading, by_rows); // wrong wmma_odd_rows: misaligned-address
}
WRONG(wmma_odd_rows) {
    float *c = device_count<float>(16 * 17);
    odd_rows<<<1, 32>>>(c, 17);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void half_a_warp_of(float *c) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    if (threadIdx.x < 16)
        wmma::store_matrix_sync(c, sum, 16, by_rows); // wrong wmma_half_warp: shuffle-missing-lane
    __syncthreads();
}
WRONG(wmma_half_warp) {
    float *c = device_count<float>(16 * 16);
    half_a_warp_of<<<1, 32>>>(c);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void small_block(float *c) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, c, 16, by_rows); // wrong wmma_16_lanes: shuffle-missing-lane
    wmma::store_matrix_sync(c, sum, 16, by_rows);
}
WRONG(wmma_16_lanes) {
    float *c = device_count<float>(16 * 16);
    small_block<<<1, 16>>>(c);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}

__global__ void last_rows(float *c) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    wmma::store_matrix_sync(c + 8 * 16, sum, 16, by_rows); // wrong wmma_past_end: out-of-bounds
}
WRONG(wmma_past_end) {
    float *c = device_count<float>(16 * 16);
    last_rows<<<1, 32>>>(c);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
