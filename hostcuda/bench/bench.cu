// bench.cu: what a thread-barrier, a launch and two matrix products cost here, beside plain C.
//
// `bench [REPEATS]` prints one JSON object a line: the median, least and largest of so many runs,
// and where the same work exists in plain C, that too, timed in turns with it. bench.py runs it and
// adds the rest.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <time.h>
#include <vector>

enum { N = 512, TILE = 16, BARRIERS = 2000, LAUNCHES = 2000 };
static int repeats = 7;

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t error_ = (call);                                                           \
        if (error_ != cudaSuccess) {                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));    \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// ---- the kernels ----

__global__ void barriers(int count) {
    for (int i = 0; i < count; i++) __syncthreads();
}
__global__ void nothing() {}

__global__ void naive(float *c, const float *a, const float *b) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < N; k++) sum += a[row * N + k] * b[k * N + col];
    c[row * N + col] = sum;
}

__global__ void tiled(float *c, const float *a, const float *b) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (int t = 0; t < N; t += TILE) {
        as[y][x] = a[row * N + t + x];
        bs[y][x] = b[(t + y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    c[row * N + col] = sum;
}

// ---- the same loops in plain C ----

// Not inlined and not specialised, as a kernel is not: the compiler sees the same inner loop. In a
// CHECK=1 build only kernels are watched.
#define PLAIN __attribute__((noinline, no_sanitize("thread")))
PLAIN static void naive_plain(float *c, const float *a, const float *b) {
    for (int row = 0; row < N; row++)
        for (int col = 0; col < N; col++) {
            float sum = 0;
            for (int k = 0; k < N; k++) sum += a[row * N + k] * b[k * N + col];
            c[row * N + col] = sum;
        }
}

PLAIN static void tiled_plain(float *c, const float *a, const float *b) {
    static float as[TILE][TILE], bs[TILE][TILE], sum[TILE][TILE];
    for (int row = 0; row < N; row += TILE)
        for (int col = 0; col < N; col += TILE) {
            memset(sum, 0, sizeof sum);
            for (int t = 0; t < N; t += TILE) {
                for (int y = 0; y < TILE; y++)
                    for (int x = 0; x < TILE; x++) {
                        as[y][x] = a[(row + y) * N + t + x];
                        bs[y][x] = b[(t + y) * N + col + x];
                    }
                for (int y = 0; y < TILE; y++)
                    for (int x = 0; x < TILE; x++)
                        for (int k = 0; k < TILE; k++) sum[y][x] += as[y][k] * bs[k][x];
            }
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x++) c[(row + y) * N + col + x] = sum[y][x];
        }
}

// ---- measuring ----

static double median(std::vector<double> &s) {
    std::sort(s.begin(), s.end());
    return s[s.size() / 2];
}

static void print(const char *what, const char *unit, std::vector<double> ours,
                  std::vector<double> plain = {}) {
    double middle = median(ours);
    printf("{\"what\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, \"least\": %.6g, "
           "\"largest\": %.6g, \"samples\": %zu",
           what, unit, middle, ours.front(), ours.back(), ours.size());
    if (!plain.empty()) {
        double rival = median(plain);
        printf(", \"plain_c\": %.6g, \"ratio\": %.4g", rival, middle / rival);
    }
    printf("}\n");
    fflush(stdout);
}

template <class F> static double seconds(F work) {
    double start = now();
    work();
    CHECK(cudaDeviceSynchronize());
    return now() - start;
}

static void measure_switches() {
    std::vector<double> barrier, launch;
    for (int i = 0; i <= repeats; i++) {
        double b = seconds([] { barriers<<<1, 256>>>(BARRIERS); }) / (BARRIERS * 256.0);
        double l = seconds([] {
            for (int k = 0; k < LAUNCHES; k++) nothing<<<1, 1>>>();
        }) / LAUNCHES;
        if (i > 0) barrier.push_back(b * 1e9), launch.push_back(l * 1e6); // the first one warms up
    }
    print("thread_barrier", "ns", barrier);
    print("launch", "us", launch);
}

static void measure_products() {
    std::vector<float> a(N * N), b(N * N), c(N * N), back(N * N);
    for (int i = 0; i < N * N; i++) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
    float *da, *db, *dc;
    size_t bytes = N * N * sizeof(float);
    CHECK(cudaMalloc(&da, bytes));
    CHECK(cudaMalloc(&db, bytes));
    CHECK(cudaMalloc(&dc, bytes));
    CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE), grid(N / TILE, N / TILE);
    std::vector<double> times[4];
    for (int i = 0; i <= repeats; i++) {
        double t[4] = {seconds([&] { naive<<<grid, block>>>(dc, da, db); }),
                       seconds([&] { naive_plain(c.data(), a.data(), b.data()); }),
                       seconds([&] { tiled<<<grid, block>>>(dc, da, db); }),
                       seconds([&] { tiled_plain(c.data(), a.data(), b.data()); })};
        CHECK(cudaMemcpy(back.data(), dc, bytes, cudaMemcpyDeviceToHost));
        if (back != c) { // small whole numbers: every order of sums is exact
            fprintf(stderr, "bench: kernel and plain C differ\n");
            exit(1);
        }
        for (int k = 0; k < 4 && i > 0; k++) times[k].push_back(t[k]);
    }
    print("naive_gemm_512", "s", times[0], times[1]);
    print("tiled_gemm_512", "s", times[2], times[3]);
    CHECK(cudaFree(da));
    CHECK(cudaFree(db));
    CHECK(cudaFree(dc));
}

static double resident_mb() {
    long pages = 0;
    if (FILE *file = fopen("/proc/self/statm", "r")) {
        if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        fclose(file);
    }
    return pages * 4096 / 1e6;
}

// A thread keeps a stack while it waits: what a full block takes of memory, with one worker.
static void measure_memory() {
    nothing<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    double before = resident_mb();
    barriers<<<1, 1024>>>(3);
    CHECK(cudaDeviceSynchronize());
    print("block_of_1024", "MB", {resident_mb() - before});
    print("process", "MB", {resident_mb()});
}

int main(int count, char **arguments) {
    if (count > 1) repeats = std::max(1, atoi(arguments[1]));
    measure_memory(); // first: the stacks of other kernels would be reused
    measure_switches();
    measure_products();
}
