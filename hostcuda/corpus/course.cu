// course.cu: what courses and CUDA's programming guide write: scans, sorts, sparse products, and
// the spellings around them.
#include "cases.h"

// ---- names and declarations ----

__global__ void block_numbers(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = gridDim.x * 1000 + blockDim.x;
}
static void launch_as_told(dim3 gridDim, dim3 blockDim, int *x, int n) {
    block_numbers<<<gridDim, blockDim>>>(x, n);
}
RIGHT(host_variables_named_like_ours) {
    int *x = device_count<int>(100);
    dim3 blockDim(32), gridDim((100 + blockDim.x - 1) / blockDim.x);
    block_numbers<<<gridDim, blockDim>>>(x, 100);
    EXPECT(to_host(x, 100)[99] == 4032);
    blockDim.x = 64;
    launch_as_told(2, blockDim, x, 100);
    EXPECT(to_host(x, 100)[99] == 2064);
    cudaFree(x);
}

#define SHARED_ARRAY(type, name, n) __shared__ type name[n]
__global__ void arrays_by_macro(float *out) {
    SHARED_ARRAY(int, whole, 32);
    SHARED_ARRAY(float, half, 32);
    __shared__ struct pair {
        int a;
        float b;
    } both;
    whole[threadIdx.x] = threadIdx.x;
    half[threadIdx.x] = threadIdx.x / 2.0f;
    pair mine = {1, 0.25f};
    if (threadIdx.x == 0) both = mine;
    __syncthreads();
    auto from_end = [&](int i) { return whole[31 - i] + half[31 - i]; };
    out[threadIdx.x] = from_end(threadIdx.x) + both.a + both.b + sizeof(whole);
}
RIGHT(shared_by_macro) {
    float *x = device_count<float>(32);
    arrays_by_macro<<<1, 32>>>(x);
    EXPECT(to_host(x, 32)[1] == 30 + 15 + 1.25f + 128);
    cudaFree(x);
}

template <class T> __global__ void count_calls(T *out) {
    static T calls, steps[2] = {1, 2}, *step = &steps[1];
    T before = atomicAdd(&calls, *step);
    if (before == 126) *out = calls;
}
RIGHT(static_variable_of_a_kernel) {
    int *x = device_count<int>(1);
    count_calls<int><<<2, 32>>>(x);
    EXPECT(to_host(x, 1)[0] == 128);
    cudaFree(x);
}

__device__ const int squares[] = {0, 1, 4, 9};
__device__ const int *chosen; // a variable, though it points to constants
__global__ void choose() { chosen = squares + threadIdx.x; }
__global__ void read_chosen(int *out) { *out = *chosen; }
RIGHT(pointer_to_constants) {
    int *x = device_count<int>(1);
    choose<<<1, 1>>>();
    read_chosen<<<1, 1>>>(x);
    EXPECT(to_host(x, 1)[0] == 0);
    cudaFree(x);
}

__device__ int architecture() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 500
    return 1;
#else
    return -1;
#endif
}
__global__ void ask_architecture(int *out) { *out = architecture(); }
RIGHT(code_for_the_device) {
    int *x = device_count<int>(1);
    ask_architecture<<<1, 1>>>(x);
    EXPECT(to_host(x, 1)[0] == 1);
    cudaFree(x);
}

// ---- launches ----

template <class T> __global__ void last_of_shared(T *out, int n) {
    extern __shared__ unsigned char bytes[];
    T *values = reinterpret_cast<T *>(bytes);
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = (T)i;
    __syncthreads();
    if (threadIdx.x == 0) *out = values[n - 1];
}
RIGHT(much_shared_for_a_template) {
    float *x = device_count<float>(1);
    int bytes = 60 * 1024, n = bytes / sizeof(float);
    cudaFuncSetAttribute(last_of_shared<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    last_of_shared<<<1, 128, bytes>>>(x, n);
    EXPECT(to_host(x, 1)[0] == n - 1);
    cudaFree(x);
}
RIGHT(launch_with_a_cast) {
    int *x = device_count<int>(64), n = 64;
    void *arguments[] = {&x, &n};
    EXPECT(cudaLaunchKernel((void *)block_numbers, dim3(2), dim3(32), arguments, 0, 0) ==
           cudaSuccess);
    EXPECT(to_host(x, 64)[63] == 2032);
    EXPECT(cudaLaunchKernel(reinterpret_cast<const void *>(&block_numbers), 1, 64, arguments) ==
           cudaSuccess);
    EXPECT(to_host(x, 64)[63] == 1064);
    cudaFree(x);
}

__global__ void add_one(int *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i]++;
}
RIGHT(graph_as_in_cuda_11) {
    int *x = device_count<int>(100);
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    add_one<<<2, 32, 0, s>>>(x, 100);
    cudaStreamEndCapture(s, &graph);
    EXPECT(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0) == cudaSuccess);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, s);
    EXPECT(cudaStreamSynchronize(s) == cudaSuccess && to_host(x, 100)[99] == 102);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
    cudaFree(x);
}

// ---- scans ----

enum { SECTION = 128 };

__global__ void kogge_stone(float *y, const float *x, int n) {
    __shared__ float sums[2][SECTION];
    int i = blockIdx.x * blockDim.x + threadIdx.x, from = 0;
    sums[0][threadIdx.x] = i < n ? x[i] : 0;
    for (int d = 1; d < blockDim.x; d *= 2, from ^= 1) {
        __syncthreads();
        float left = threadIdx.x >= d ? sums[from][threadIdx.x - d] : 0;
        sums[from ^ 1][threadIdx.x] = sums[from][threadIdx.x] + left;
    }
    if (i < n) y[i] = sums[from][threadIdx.x];
}
// One buffer needs a second barrier: the neighbour may have added already.
__global__ void kogge_stone_in_one_buffer(float *y, const float *x, int n) {
    __shared__ float sums[SECTION];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0;
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        if (threadIdx.x >= d)
            sums[threadIdx.x] += sums[threadIdx.x - d]; // check scan_in_one_buffer: race
    }
    if (i < n) y[i] = sums[threadIdx.x];
}
RIGHT(scan_in_two_buffers) {
    float *x = device_count<float>(200), *y = device_count<float>(200);
    kogge_stone<<<2, SECTION>>>(y, x, 200);
    EXPECT(to_host(y, 200)[127] == 127 * 64);
    cudaFree(x);
    cudaFree(y);
}
RIGHT(scan_in_one_buffer) {
    float *x = device_count<float>(200), *y = device_count<float>(200);
    kogge_stone_in_one_buffer<<<2, SECTION>>>(y, x, 200);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
}

__global__ void brent_kung(float *y, const float *x, int n) {
    __shared__ float sums[2 * SECTION];
    int t = threadIdx.x, i = 2 * blockIdx.x * SECTION + t;
    sums[t] = i < n ? x[i] : 0;
    sums[t + SECTION] = i + SECTION < n ? x[i + SECTION] : 0;
    for (int d = 1; d <= SECTION; d *= 2) {
        __syncthreads();
        int at = (t + 1) * 2 * d - 1;
        if (at < 2 * SECTION) sums[at] += sums[at - d];
    }
    for (int d = SECTION / 2; d > 0; d /= 2) {
        __syncthreads();
        int at = (t + 1) * 2 * d - 1;
        if (at + d < 2 * SECTION) sums[at + d] += sums[at];
    }
    __syncthreads();
    if (i < n) y[i] = sums[t];
    if (i + SECTION < n) y[i + SECTION] = sums[t + SECTION];
}
RIGHT(scan_over_a_tree) {
    float *x = device_count<float>(200), *y = device_count<float>(200);
    brent_kung<<<1, SECTION>>>(y, x, 200);
    EXPECT(to_host(y, 200)[199] == 199 * 100);
    cudaFree(x);
    cudaFree(y);
}

// A block waits for its left neighbour's sum; numbers are drawn as blocks start, so it has started.
__global__ void domino_scan(float *y, const float *x, float *carry, int *done, int *drawn, int n) {
    __shared__ float sums[SECTION], before;
    __shared__ int number;
    if (threadIdx.x == 0) number = atomicAdd(drawn, 1);
    __syncthreads();
    int i = number * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0;
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        float left = threadIdx.x >= d ? sums[threadIdx.x - d] : 0;
        __syncthreads();
        sums[threadIdx.x] += left;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        while (number > 0 && atomicAdd(&done[number - 1], 0) == 0) {
        }
        before = number > 0 ? carry[number - 1] : 0;
        carry[number] = before + sums[blockDim.x - 1];
        __threadfence();
        atomicExch(&done[number], 1);
    }
    __syncthreads();
    if (i < n) y[i] = before + sums[threadIdx.x];
}
RIGHT(scan_across_blocks) {
    int n = 1000, blocks = (n + SECTION - 1) / SECTION, *done, *drawn;
    float *x = device_count<float>(n), *y = device_count<float>(n), *carry;
    cudaMalloc(&carry, blocks * sizeof(float));
    cudaMalloc(&done, blocks * sizeof(int));
    cudaMalloc(&drawn, sizeof(int));
    cudaMemset(done, 0, blocks * sizeof(int));
    cudaMemset(drawn, 0, sizeof(int));
    domino_scan<<<blocks, SECTION>>>(y, x, carry, done, drawn, n);
    EXPECT(to_host(y, n)[999] == 499500);
    for (void *p : {(void *)x, (void *)y, (void *)carry, (void *)done, (void *)drawn}) cudaFree(p);
}

// ---- sorting, sparse products, tiles ----

struct record {
    int key, value;
    __host__ __device__ bool operator>(const record &other) const {
        return key > other.key; // check sort_without_barrier: race
    }
};
template <class T, int N, bool WAITS> __global__ void bitonic_sort(T *x) {
    __shared__ T s[N];
    for (int i = threadIdx.x; i < N; i += blockDim.x) s[i] = x[i];
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            if (WAITS) __syncthreads();
            for (int i = threadIdx.x; i < N; i += blockDim.x) {
                int other = i ^ j;
                if (other <= i) continue;
                if ((s[i] > s[other]) != ((i & k) == 0)) continue;
                T t = s[i];
                s[i] = s[other], s[other] = t;
            }
        }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x) x[i] = s[i];
}
template <bool WAITS> static int *sorted_keys() {
    std::vector<record> host(256);
    for (int i = 0; i < 256; i++) host[i] = {i * 77 % 256, i};
    record *x;
    cudaMalloc(&x, 256 * sizeof(record));
    cudaMemcpy(x, host.data(), 256 * sizeof(record), cudaMemcpyHostToDevice);
    bitonic_sort<record, 256, WAITS><<<1, 64>>>(x);
    return (int *)x;
}
RIGHT(sort_with_barrier) {
    int *x = sorted_keys<true>();
    EXPECT(to_host(x, 512)[2 * 200] == 200);
    cudaFree(x);
}
RIGHT(sort_without_barrier) {
    int *x = sorted_keys<false>();
    cudaDeviceSynchronize();
    cudaFree(x);
}

struct csr {
    int rows, *starts, *columns;
    float *values;
};
__global__ void sparse_product(csr m, const float *__restrict__ x, float *__restrict__ y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= m.rows) return;
    float sum = 0;
    for (int i = m.starts[row] + lane; i < m.starts[row + 1]; i += 32)
        sum += m.values[i] * __ldg(&x[m.columns[i]]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) y[row] = sum;
}
// Row r holds r + 1 ones at the columns 0 to r; `row_starts` says how many starts are copied.
static void sparse_case(int row_starts) {
    std::vector<int> starts, columns;
    for (int r = 0; r <= 40; r++) starts.push_back(r * (r + 1) / 2);
    for (int r = 0; r < 40; r++)
        for (int c = 0; c <= r; c++) columns.push_back(c);
    std::vector<float> ones(columns.size(), 1.0f);
    csr m = {40, nullptr, nullptr, nullptr};
    float *x = device_count<float>(40), *y = device_count<float>(40);
    cudaMalloc(&m.starts, 41 * sizeof(int));
    cudaMalloc(&m.columns, columns.size() * sizeof(int));
    cudaMalloc(&m.values, ones.size() * sizeof(float));
    cudaMemcpy(m.starts, starts.data(), row_starts * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(m.columns, columns.data(), columns.size() * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(m.values, ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice);
    sparse_product<<<10, 128>>>(m, x, y);
    EXPECT(row_starts < 41 || to_host(y, 40)[39] == 780);
    cudaDeviceSynchronize();
    for (void *p : {(void *)m.starts, (void *)m.columns, (void *)m.values, (void *)x, (void *)y})
        cudaFree(p);
}
RIGHT(sparse_rows) { sparse_case(41); }

// Two tiles at hand; whoever overwrites one must wait for those who still use it.
template <bool WAITS> __global__ void double_buffered(float *c, const float *a, const float *b) {
    __shared__ float as[2][8][8], bs[2][8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    auto load = [&](int t) {
        as[t % 2][y][x] = a[row * 32 + t * 8 + x];
        bs[t % 2][y][x] = b[(t * 8 + y) * 32 + column];
    };
    float sum = 0;
    load(0), load(1);
    __syncthreads();
    for (int t = 0; t < 4; t++) {
        for (int k = 0; k < 8; k++)
            sum = fmaf(as[t % 2][y][k], bs[t % 2][k][x], sum); // check tiles_unawaited: race
        if (WAITS) __syncthreads();
        if (t + 2 < 4) load(t + 2);
    }
    c[row * 32 + column] = sum;
}
template <bool WAITS> static void double_buffered_case() {
    float *a = device_count<float>(1024), *b, *c = device_count<float>(1024);
    std::vector<float> identity(1024);
    for (int i = 0; i < 32; i++) identity[i * 33] = 1;
    cudaMalloc(&b, 4096);
    cudaMemcpy(b, identity.data(), 4096, cudaMemcpyHostToDevice);
    double_buffered<WAITS><<<dim3(4, 4), dim3(8, 8)>>>(c, a, b);
    EXPECT(!WAITS || to_host(c, 1024)[777] == 777);
    cudaDeviceSynchronize();
    for (float *p : {a, b, c}) cudaFree(p);
}
RIGHT(tiles_in_turn) { double_buffered_case<true>(); }
RIGHT(tiles_unawaited) { double_buffered_case<false>(); }

// Each block counts on its own before it adds to all.
template <bool WAITS> __global__ void private_histogram(unsigned *bins, const int *x, int n) {
    extern __shared__ unsigned mine[];
    for (int i = threadIdx.x; i < 64; i += blockDim.x)
        mine[i] = 0; // check histogram_not_yet_cleared: race
    if (WAITS) __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i] % 64], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}
template <bool WAITS> static void histogram_case() {
    int *x = device_count<int>(1000);
    unsigned *bins;
    cudaMalloc(&bins, 64 * sizeof(unsigned));
    cudaMemset(bins, 0, 64 * sizeof(unsigned));
    private_histogram<WAITS><<<3, 96, 64 * sizeof(unsigned)>>>(bins, x, 1000);
    EXPECT(!WAITS || to_host(bins, 64)[39] == 16);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(bins);
}
RIGHT(histogram_in_two_steps) { histogram_case<true>(); }
RIGHT(histogram_not_yet_cleared) { histogram_case<false>(); }

__global__ void fill_field(float *field, int width, int height, bool both) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (both ? x < width && y < height : x < width || y < height)
        field[y * width + x] = 1; // wrong edge_by_or: out-of-bounds
}
RIGHT(edge_by_and) {
    float *x = device_count<float>(33 * 40);
    fill_field<<<dim3(3, 3), dim3(16, 16)>>>(x, 33, 40, true);
    EXPECT(to_host(x, 33 * 40)[33 * 40 - 1] == 1);
    cudaFree(x);
}
WRONG(edge_by_or) {
    float *x = device_count<float>(33 * 40);
    fill_field<<<dim3(3, 3), dim3(16, 16)>>>(x, 33, 40, false);
    cudaDeviceSynchronize();
    cudaDeviceReset();
}
