/* hostcuda/nodes.h: graphs built node by node, under CUDA's names. */
#ifndef HOSTCUDA_NODES_H
#define HOSTCUDA_NODES_H

#include "hostcuda/names.h"

#define cudaGraphCreate                  hc_GraphCreate
#define cudaGraphClone                   hc_GraphClone
#define cudaGraphAddEmptyNode            hc_GraphAddEmptyNode
#define cudaGraphAddMemcpyNode           hc_GraphAddMemcpyNode
#define cudaGraphAddMemcpyNode1D         hc_GraphAddMemcpyNode1D
#define cudaGraphAddMemsetNode           hc_GraphAddMemsetNode
#define cudaGraphAddHostNode             hc_GraphAddHostNode
#define cudaGraphAddChildGraphNode       hc_GraphAddChildGraphNode
#define cudaGraphAddKernelNode           hc_cuda_GraphAddKernelNode
#define cudaGraphExecUpdate              hc_cuda_GraphExecUpdate
#define cudaGraphExecKernelNodeSetParams hc_cuda_GraphExecKernelNodeSetParams
#define cudaGraphInstantiateWithFlags    hc_GraphInstantiateFlags

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams; /* one pointer to each argument */
    void **extra;
};

namespace hc {
inline hc_kernel_node kernel_node(const cudaKernelNodeParams &p, const char *file, int line) {
    return {configure({"a node", {file, line}}, p.gridDim, p.blockDim, p.sharedMemBytes, nullptr),
            p.func, p.kernelParams};
}
} // namespace hc

static inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *after, size_t count,
                                                 const cudaKernelNodeParams *p, HC_HERE) {
    if (!p || p->extra) return cudaErrorInvalidValue;
    hc_kernel_node k = hc::kernel_node(*p, hc_file, hc_line);
    return hc_GraphAddKernel(node, graph, after, count, &k, hc_file, hc_line);
}
static inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaKernelNodeParams *p, HC_HERE) {
    if (!p || p->extra) return cudaErrorInvalidValue;
    hc_kernel_node k = hc::kernel_node(*p, hc_file, hc_line);
    return hc_GraphExecSetKernel(exec, node, &k, hc_file, hc_line);
}

/* CUDA 12 tells what came of it in a structure, CUDA 11 in two values. */
struct cudaGraphExecUpdateResultInfo {
    cudaGraphExecUpdateResult result;
    cudaGraphNode_t errorNode, errorFromNode;
};
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphExecUpdateResultInfo *info, HC_HERE) {
    cudaError_t error = hc_GraphExecUpdatePlan(exec, graph, hc_file, hc_line);
    if (info)
        *info = {error ? cudaGraphExecUpdateErrorTopologyChanged : cudaGraphExecUpdateSuccess,
                 nullptr, nullptr};
    return error;
}
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                              cudaGraphNode_t *node,
                                              cudaGraphExecUpdateResult *result, HC_HERE) {
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info, hc_file, hc_line);
    if (node) *node = nullptr;
    if (result) *result = info.result;
    return error;
}

#endif
