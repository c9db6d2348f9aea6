// graphs.cu: graphs built node by node, kernels by an untyped address, copies of three dimensions.
#include "cases.h"

__global__ void fill_with(int *x, int value) { x[threadIdx.x] = value; }
__global__ void add_to(int *x, const int *y, int factor) {
    x[threadIdx.x] += factor * y[threadIdx.x];
}
template <int N> __global__ void times(int *x) { x[threadIdx.x] *= N; }

static cudaKernelNodeParams node_of(void *kernel, void **arguments) {
    cudaKernelNodeParams p = {};
    p.func = kernel, p.gridDim = dim3(1), p.blockDim = dim3(32), p.kernelParams = arguments;
    return p;
}

// x = 5, then y = 2 x and z = 3 x in either order, then y += z.
RIGHT(graph_of_nodes) {
    int *x = device_count<int>(32), *y = device_count<int>(32), *z = device_count<int>(32);
    int five = 5, two = 2, three = 3, one = 1, back[32];
    void *fill_x[] = {&x, &five}, *into_y[] = {&y, &x, &two}, *into_z[] = {&z, &x, &three};
    void *sum[] = {&y, &z, &one};
    cudaGraph_t g;
    cudaGraphNode_t a, clear_y, clear_z, b, c, d, e;
    EXPECT(cudaGraphCreate(&g, 0) == cudaSuccess);
    auto p = node_of((void *)fill_with, fill_x);
    EXPECT(cudaGraphAddKernelNode(&a, g, nullptr, 0, &p) == cudaSuccess);
    cudaMemsetParams clear = {};
    clear.dst = y, clear.elementSize = 4, clear.width = 32, clear.height = 1;
    EXPECT(cudaGraphAddMemsetNode(&clear_y, g, nullptr, 0, &clear) == cudaSuccess);
    clear.dst = z, clear.value = 7;
    EXPECT(cudaGraphAddMemsetNode(&clear_z, g, nullptr, 0, &clear) == cudaSuccess);
    cudaGraphNode_t before_b[] = {a, clear_y}, before_c[] = {a, clear_z}, before_d[2];
    p = node_of((void *)add_to, into_y);
    EXPECT(cudaGraphAddKernelNode(&b, g, before_b, 2, &p) == cudaSuccess);
    p = node_of((void *)&add_to, into_z);
    EXPECT(cudaGraphAddKernelNode(&c, g, before_c, 2, &p) == cudaSuccess);
    before_d[0] = b, before_d[1] = c;
    p = node_of(reinterpret_cast<void *>(add_to), sum);
    EXPECT(cudaGraphAddKernelNode(&d, g, before_d, 2, &p) == cudaSuccess);
    EXPECT(cudaGraphAddMemcpyNode1D(&e, g, &d, 1, back, y, sizeof back, cudaMemcpyDeviceToHost) ==
           cudaSuccess);
    size_t count = 0;
    EXPECT(cudaGraphGetNodes(g, nullptr, &count) == cudaSuccess && count == 7);
    cudaGraphExec_t run, run_clone;
    cudaGraph_t clone;
    EXPECT(cudaGraphClone(&clone, g) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&run, g, 0) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&run_clone, clone, 0) == cudaSuccess);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(back[0] == 10 + 7 + 15 && back[31] == 32);
    five = 1; // (a node has its arguments from when it was added)
    EXPECT(cudaGraphLaunch(run_clone, 0) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(back[0] == 32);
    auto changed = node_of((void *)fill_with, fill_x);
    EXPECT(cudaGraphExecKernelNodeSetParams(run, a, &changed) == cudaSuccess);
    EXPECT(cudaGraphDestroy(g) == cudaSuccess); // (from here on `a` is no node any more)
    EXPECT(cudaGraphExecKernelNodeSetParams(run, a, &changed) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(back[0] == 2 + 7 + 3);
    cudaGraphDestroy(clone), cudaGraphExecDestroy(run), cudaGraphExecDestroy(run_clone);
    cudaFree(x), cudaFree(y), cudaFree(z);
}

static void count_up(void *counter) { ++*(int *)counter; }
RIGHT(graph_in_a_graph) {
    int *x = device_count<int>(32), calls = 0;
    void *arguments[] = {&x};
    cudaGraph_t inner, outer;
    cudaGraphNode_t a, b, c, empty;
    cudaGraphCreate(&inner, 0), cudaGraphCreate(&outer, 0);
    auto p = node_of((void *)times<3>, arguments);
    EXPECT(cudaGraphAddKernelNode(&a, inner, nullptr, 0, &p) == cudaSuccess);
    EXPECT(cudaGraphAddChildGraphNode(&a, outer, nullptr, 0, inner) == cudaSuccess);
    EXPECT(cudaGraphAddEmptyNode(&empty, outer, &a, 1) == cudaSuccess);
    EXPECT(cudaGraphAddChildGraphNode(&b, outer, &empty, 1, inner) == cudaSuccess);
    cudaHostNodeParams host = {count_up, &calls};
    EXPECT(cudaGraphAddHostNode(&c, outer, &b, 1, &host) == cudaSuccess);
    cudaGraphExec_t run;
    EXPECT(cudaGraphInstantiate(&run, outer, 0) == cudaSuccess);
    cudaGraphDestroy(inner), cudaGraphDestroy(outer);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(calls == 1 && to_host(x, 32)[31] == 31 * 9);
    cudaGraphExecDestroy(run), cudaFree(x);
}

static cudaGraph_t captured(int *x, int value, bool twice) {
    cudaStream_t s;
    cudaGraph_t g;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    fill_with<<<1, 32, 0, s>>>(x, value);
    if (twice) times<2><<<1, 32, 0, s>>>(x);
    EXPECT(cudaStreamEndCapture(s, &g) == cudaSuccess);
    cudaStreamDestroy(s);
    return g;
}
RIGHT(graph_updated) {
    int *x = device_count<int>(32);
    cudaGraph_t one = captured(x, 1, false), two = captured(x, 2, false);
    cudaGraph_t more = captured(x, 3, true);
    cudaGraphExec_t run;
    cudaGraphExecUpdateResultInfo told;
    EXPECT(cudaGraphInstantiate(&run, one, 0) == cudaSuccess);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess);
    EXPECT(cudaGraphExecUpdate(run, two, &told) == cudaSuccess);
    EXPECT(told.result == cudaGraphExecUpdateSuccess);
    EXPECT(to_host(x, 32)[5] == 1);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess && to_host(x, 32)[5] == 2);
    EXPECT(cudaGraphExecUpdate(run, more, &told) == cudaErrorGraphExecUpdateFailure);
    EXPECT(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
    EXPECT(told.result != cudaGraphExecUpdateSuccess);
    cudaGraphDestroy(one), cudaGraphDestroy(two), cudaGraphDestroy(more);
    cudaGraphExecDestroy(run), cudaFree(x);
}

WRONG(node_past_the_end) {
    int *x = device_count<int>(16), one = 1;
    void *arguments[] = {&x, &one};
    cudaGraph_t g;
    cudaGraphNode_t a;
    cudaGraphExec_t run;
    cudaGraphCreate(&g, 0);
    cudaMemsetParams set = {};
    set.dst = x, set.elementSize = 4, set.width = 32, set.height = 1;
    auto error = cudaGraphAddMemsetNode(&a, g, 0, 0, &set); // wrong node_past_the_end: copy-size
    EXPECT(error == cudaErrorInvalidValue);
    cudaGetLastError();
    auto p = node_of((void *)fill_with, arguments);
    p.blockDim = dim3(16);
    EXPECT(cudaGraphAddKernelNode(&a, g, nullptr, 0, &p) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&run, g, 0) == cudaSuccess);
    EXPECT(cudaGraphLaunch(run, 0) == cudaSuccess && to_host(x, 16)[15] == 1);
    cudaGraphExecDestroy(run), cudaGraphDestroy(g), cudaFree(x);
}
__global__ void fill_too_much(int *x) { x[threadIdx.x] = 1; } // wrong node_fault: out-of-bounds
WRONG(node_fault) {
    int *x = device_count<int>(16);
    void *arguments[] = {&x};
    cudaGraph_t g;
    cudaGraphNode_t a;
    cudaGraphExec_t run;
    cudaGraphCreate(&g, 0);
    auto p = node_of((void *)fill_too_much, arguments);
    cudaGraphAddKernelNode(&a, g, nullptr, 0, &p);
    cudaGraphInstantiate(&run, g, 0);
    cudaGraphLaunch(run, 0);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaDeviceReset();
}

// ---- kernels by an untyped address ----

RIGHT(launch_by_address) {
    int *x = device_count<int>(32), seven = 7;
    const void *kernels[] = {(const void *)fill_with, (void *)times<2>};
    void *arguments[] = {&x, &seven};
    for (const void *k : kernels)
        EXPECT(cudaLaunchKernel(k, dim3(1), dim3(32), arguments, 0, nullptr) == cudaSuccess);
    EXPECT(to_host(x, 32)[3] == 14);
    cudaFree(x);
}
WRONG(launch_of_no_kernel) {
    int something = 0;
    void *none[] = {nullptr};
    const void *k = &something;
    cudaError_t error = cudaLaunchKernel(k, 1, 32, none); // wrong launch_of_no_kernel: null-kernel
    EXPECT(error == cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
}

// ---- copies of three dimensions ----

// A box of 4 x 3 x 2 ints out of one of 8 x 5 x 4, and into its middle.
RIGHT(copied_volume) {
    int *x = device_count<int>(8 * 5 * 4), part[4 * 3 * 2];
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(x, 8 * sizeof(int), 8, 5);
    p.srcPos = make_cudaPos(2 * sizeof(int), 1, 1);
    p.dstPtr = make_cudaPitchedPtr(part, 4 * sizeof(int), 4, 3);
    p.extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    p.kind = cudaMemcpyDeviceToHost;
    EXPECT(cudaMemcpy3D(&p) == cudaSuccess);
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 3; y++)
            for (int i = 0; i < 4; i++)
                EXPECT(part[(z * 3 + y) * 4 + i] == ((z + 1) * 5 + y + 1) * 8 + i + 2);
    for (int &value : part) value = -value;
    cudaMemcpy3DParms back = {};
    back.srcPtr = p.dstPtr, back.dstPtr = p.srcPtr, back.dstPos = p.srcPos;
    back.extent = p.extent, back.kind = cudaMemcpyHostToDevice;
    EXPECT(cudaMemcpy3DAsync(&back, 0) == cudaSuccess);
    auto all = to_host(x, 8 * 5 * 4);
    EXPECT(all[(1 * 5 + 1) * 8 + 2] == -50 && all[(2 * 5 + 3) * 8 + 5] == -109 && all[49] == 49);
    cudaFree(x);
}
WRONG(volume_too_deep) {
    int *x = device_count<int>(4 * 4), part[4 * 4];
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(x, 4 * sizeof(int), 4, 2);
    p.dstPtr = make_cudaPitchedPtr(part, 4 * sizeof(int), 4, 2);
    p.extent = make_cudaExtent(4 * sizeof(int), 2, 3);
    p.kind = cudaMemcpyDeviceToHost;
    EXPECT(cudaMemcpy3D(&p) == cudaErrorInvalidValue); // wrong volume_too_deep: copy-size
    cudaGetLastError();
    cudaFree(x);
}
