// mma.cu: the fragments of kernels/mma.h, against plain products of small whole numbers, which are
// exact: by the layout that the header gives, and by ldmatrix from shared memory.
//
// Runs on hostcuda and, built by nvcc, on a GPU (tests/test_mma.py). Prints what is wrong, and ends
// with `N passed, N failed`.
#include <cstdio>
#include <cstring>

#include "kernels/device.h"
#include "kernels/mma.h"
#include "tl/precision.h"

enum { M = 16, N = 8, MOST_K = 16, LANES = 32 };

static int passed, failed;
static void judge(const char *what, bool right) {
    printf("%s%s", right ? "" : what, right ? "" : " is wrong\n");
    right ? passed++ : failed++;
}

// ---- products ----

// How the fragments get into registers: as the header's table says; by ldmatrix, of matrices that
// lie along k; and, of 16-bit numbers, of such that lie across.
enum how { BY_TABLE, ALONG_K, ACROSS };

template <bool BF16> static __device__ uint32_t word_of(const float *x, int at, int step) {
    return BF16 ? to_bf16(x[at], x[at + step]) : to_tf32(x[at]);
}

template <bool BF16>
static __device__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    if (BF16)
        mma_bf16(d, a, b);
    else
        mma_tf32(d, a, b);
}

// x[i] as it is in shared memory, in `lines` of 16 bytes each: EACH numbers of a line.
template <bool BF16>
static __device__ void fill(uint32_t *to, const float *x, int lane, int numbers) {
    const int each = BF16 ? 2 : 1;
    for (int i = lane; i < numbers / each; i += LANES) to[i] = word_of<BF16>(x, i * each, 1);
    __syncwarp();
}

// D = D + A[M,k] B[k,N]; the matrices as the kernel is told: A or its transpose, B or its.
template <bool BF16, how HOW>
static __global__ void product(float *D, const float *A, const float *B) {
    const int k = BF16 ? 16 : 8, half = k / 2, line = BF16 ? 8 : 4; // numbers of 16 bytes
    __shared__ __align__(16) uint32_t in_a[M * MOST_K], in_b[MOST_K * M];
    int lane = (int)threadIdx.x, g = lane / 4, t = lane % 4, e = BF16 ? 2 * t : t;
    uint32_t a[4] = {}, b[4] = {};
    if (HOW == BY_TABLE) {
        for (int i = 0; i < 4; i++)
            a[i] = word_of<BF16>(A, (g + i % 2 * 8) * k + e + i / 2 * half, 1);
        for (int i = 0; i < 2; i++) b[i] = word_of<BF16>(B, (e + i * half) * N + g, N);
    } else if (HOW == ALONG_K) { // A[M][k], B as [N][k]
        fill<BF16>(in_a, A, lane, M * k);
        fill<BF16>(in_b, B, lane, N * k);
        int words = k * (BF16 ? 2 : 4) / 4; // of a row
        ldmatrix(a, in_a + (lane % 16) * words + lane / 16 * 4);
        ldmatrix(b, in_b + (lane % 8) * words + lane / 8 % 2 * 4);
    } else { // A as [k][M], B[k][N]
        fill<BF16>(in_a, A, lane, M * k);
        fill<BF16>(in_b, B, lane, N * k);
        ldmatrix_turned(a, in_a + (lane % 8 + lane / 16 * 8) * (M / 2) + lane / 8 % 2 * (line / 2));
        ldmatrix_turned(b, in_b + (lane % 16) * (N / 2));
    }
    float d[4];
    for (int i = 0; i < 4; i++) d[i] = D[(g + i / 2 * 8) * N + 2 * t + i % 2];
    uint32_t both[2] = {b[0], b[1]};
    multiply<BF16>(d, a, both);
    for (int i = 0; i < 4; i++) D[(g + i / 2 * 8) * N + 2 * t + i % 2] = d[i];
}

static float *on_device(const float *x, int n) {
    float *copy = NULL;
    cudaMalloc((void **)&copy, (size_t)n * sizeof *copy);
    cudaMemcpy(copy, x, (size_t)n * sizeof *copy, cudaMemcpyHostToDevice);
    return copy;
}
// ... and given back. A launch that failed says so here.
static bool from_device(float *x, float *copy, int n) {
    cudaError_t error = cudaMemcpy(x, copy, (size_t)n * sizeof *copy, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
    cudaFree(copy);
    return error == cudaSuccess;
}

// Numbers that differ from place to place: a transposed or moved fragment shows.
static float number(int i) { return (float)((i * 29 + i * i * 7 + 3) % 127 - 63); }

template <bool BF16, how HOW> static void check_product(const char *what) {
    const int k = BF16 ? 16 : 8;
    float A[M * MOST_K], B[MOST_K * N], D[M * N], want[M * N], stored_a[M * MOST_K];
    float stored_b[MOST_K * N];
    for (int i = 0; i < M * k; i++) A[i] = number(i);
    for (int i = 0; i < k * N; i++) B[i] = number(i + 1000);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            D[i * N + j] = want[i * N + j] = number(i * N + j + 5000);
            for (int l = 0; l < k; l++) want[i * N + j] += A[i * k + l] * B[l * N + j];
        }
    for (int l = 0; l < k; l++) {
        for (int i = 0; i < M; i++) stored_a[HOW == ACROSS ? l * M + i : i * k + l] = A[i * k + l];
        for (int j = 0; j < N; j++) stored_b[HOW == ALONG_K ? j * k + l : l * N + j] = B[l * N + j];
    }
    float *a = on_device(stored_a, M * k), *b = on_device(stored_b, k * N),
          *d = on_device(D, M * N);
    product<BF16, HOW><<<1, LANES>>>(d, a, b);
    bool there = from_device(D, d, M * N);
    cudaFree(a), cudaFree(b);
    judge(what, there && memcmp(D, want, sizeof D) == 0);
}

// ---- numbers ----

enum { NUMBERS = 1 << 16 };

static __global__ void convert(uint32_t *tf32, uint32_t *bf16, const float *x) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    tf32[i] = to_tf32(x[i]);
    bf16[i] = to_bf16(x[i], x[NUMBERS - 1 - i]);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

// Of each sign and exponent the significands around ties of either type. (NaN: any NaN.)
static void check_conversions() {
    static float x[NUMBERS], as_tf32[NUMBERS], as_bf16[NUMBERS];
    static const uint32_t low[] = {0,       1,       0xfff,    0x1000,  0x1001, 0x2000,
                                   0x3000,  0x7fff,  0x8000,   0x8001,  0xffff, 0x17fff,
                                   0x18000, 0x18001, 0x7fefff, 0x7fffff};
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t bits = i / 16 % 512 << 23 | (low[i % 16] + (i / 8192 << 17 & 0x7fffff)) % 0x800000;
        memcpy(&x[i], &bits, sizeof bits);
    }
    float *from = on_device(x, NUMBERS), *tf32 = on_device(x, NUMBERS),
          *bf16 = on_device(x, NUMBERS);
    convert<<<NUMBERS / 256, 256>>>((uint32_t *)tf32, (uint32_t *)bf16, from);
    bool there = from_device(as_tf32, tf32, NUMBERS) && from_device(as_bf16, bf16, NUMBERS);
    int wrong_tf32 = 0, wrong_bf16 = 0;
    for (int i = 0; i < NUMBERS; i++) {
        float low_half = x[i], high_half = x[NUMBERS - 1 - i];
        uint32_t pair = bits_of(as_bf16[i]);
        if (low_half != low_half || high_half != high_half) continue;
        wrong_tf32 += bits_of(as_tf32[i]) != bits_of(tl_rounded(low_half, TL_TF32));
        wrong_bf16 += pair << 16 != bits_of(tl_rounded(low_half, TL_BF16)) ||
                      (pair & 0xffff0000u) != bits_of(tl_rounded(high_half, TL_BF16));
    }
    cudaFree(from);
    judge("a conversion to TF32", there && wrong_tf32 == 0);
    judge("a conversion to bfloat16", there && wrong_bf16 == 0);
}

// ---- copies ----

// Every other line is there; the others are zeros, whatever stood in shared memory.
static __global__ void copy_lines(float *to, const float *from) {
    __shared__ __align__(16) float lines[LANES * 4];
    int lane = (int)threadIdx.x;
    for (int i = 0; i < 4; i++) lines[lane * 4 + i] = -1;
    copy_16_async(lines + lane * 4, lane % 2 ? from : from + lane * 4, lane % 2 == 0);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    for (int i = 0; i < 4; i++) to[lane * 4 + i] = lines[(lane * 4 + i + 4) % (LANES * 4)];
}

static void check_copies() {
    float x[LANES * 4], got[LANES * 4];
    for (int i = 0; i < LANES * 4; i++) x[i] = number(i) + 100;
    float *from = on_device(x, LANES * 4), *to = on_device(x, LANES * 4);
    copy_lines<<<1, LANES>>>(to, from);
    bool right = from_device(got, to, LANES * 4);
    for (int i = 0; i < LANES * 4; i++) {
        int at = (i + 4) % (LANES * 4);
        right = right && got[i] == (at / 4 % 2 ? 0 : x[at]);
    }
    cudaFree(from);
    judge("a copy", right);
}

int main() {
    check_product<true, BY_TABLE>("a product of bfloat16, by the table");
    check_product<true, ALONG_K>("a product of bfloat16, by ldmatrix along k");
    check_product<true, ACROSS>("a product of bfloat16, by ldmatrix_turned");
    check_product<false, BY_TABLE>("a product of TF32, by the table");
    check_product<false, ALONG_K>("a product of TF32, by ldmatrix along k");
    check_conversions();
    check_copies();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
