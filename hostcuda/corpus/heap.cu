// heap.cu: malloc, free, new and delete in kernels.
#include "cases.h"

// A list of each thread's own, kept from one launch to the next.
struct cell {
    int value;
    cell *next;
};
__global__ void push(cell **lists, int value) {
    cell *c = new cell;
    c->value = value * (int)threadIdx.x;
    c->next = value > 1 ? lists[threadIdx.x] : nullptr;
    lists[threadIdx.x] = c;
}
__global__ void sum_and_drop(int *out, cell **lists) {
    int sum = 0;
    for (cell *c = lists[threadIdx.x]; c;) {
        cell *next = c->next;
        sum += c->value;
        delete c;
        c = next;
    }
    out[threadIdx.x] = sum;
}
RIGHT(lists_of_threads) {
    int *out = device_count<int>(64);
    cell **lists = nullptr;
    cudaMalloc(&lists, 64 * sizeof *lists);
    for (int value = 1; value <= 3; value++) push<<<1, 64>>>(lists, value);
    sum_and_drop<<<1, 64>>>(out, lists);
    auto h = to_host(out, 64);
    for (int i = 0; i < 64; i++) EXPECT(h[i] == 6 * i);
    cudaFree(out), cudaFree(lists);
}

// Who is deleted through its base, and in an array, is told.
struct figure {
    __device__ virtual ~figure() {}
    __device__ virtual int area() const = 0;
};
struct pane : figure {
    int side, *dropped;
    __device__ pane(int s, int *d) : side(s), dropped(d) {}
    __device__ ~pane() { atomicAdd(dropped, side); }
    __device__ int area() const override { return side * side; }
};
struct counted {
    int *dropped;
    __device__ ~counted() { atomicAdd(dropped, 100); }
};
__global__ void make_figures(int *out) {
    figure *s = new pane(threadIdx.x, out);
    atomicAdd(out + 1, s->area());
    delete s;
    counted *all = new counted[3];
    for (int i = 0; i < 3; i++) all[i].dropped = out;
    delete[] all;
    float *rows = (float *)malloc(8 * sizeof *rows);
    for (int i = 0; i < 8; i++) rows[i] = i;
    if (rows[7] == 7) atomicAdd(out + 2, 1);
    free(rows);
}
RIGHT(objects_of_threads) {
    int *out = device_count<int>(3);
    make_figures<<<2, 4>>>(out);
    auto h = to_host(out, 3);
    EXPECT(h[0] == 2 * 6 + 8 * 300 && h[1] == 1 + 2 * 14 && h[2] == 2 + 8);
    cudaFree(out);
}
__global__ void fill_heap(int *got) {
    char *p = (char *)malloc((size_t)1 << 40);
    *got = p != nullptr;
    free(p);
}
RIGHT(heap_is_full) {
    int *got = device_count<int>(1);
    fill_heap<<<1, 1>>>(got);
    EXPECT(to_host(got, 1)[0] == 0);
    cudaFree(got);
}

__global__ void one_too_many(int *out) {
    int *p = new int[8];
    for (int i = 0; i <= 8; i++) p[i] = i; // wrong heap_overrun: out-of-bounds
    *out = p[0];
    delete[] p;
}
WRONG(heap_overrun) {
    int *out = device_count<int>(1);
    one_too_many<<<1, 1>>>(out);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
__global__ void freed_by_all(int **p) {
    if (threadIdx.x == 0) *p = new int;
    __syncthreads();
    delete *p; // wrong heap_freed_twice: double-free
}
WRONG(heap_freed_twice) {
    int **p = nullptr;
    cudaMalloc(&p, sizeof *p);
    freed_by_all<<<1, 2>>>(p);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
__global__ void frees_anothers(int *x) { free(x); } // wrong heap_free_of_another: bad-free
WRONG(heap_free_of_another) {
    int *x = device_count<int>(1);
    frees_anothers<<<1, 1>>>(x);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    cudaDeviceReset();
}
__global__ void forgets(int *out) {
    int *p = new int(3); // wrong heap_leak: leak
    *out = *p;
}
WRONG(heap_leak) {
    int *out = device_count<int>(1);
    forgets<<<1, 1>>>(out);
    EXPECT(to_host(out, 1)[0] == 3);
    cudaFree(out);
}
