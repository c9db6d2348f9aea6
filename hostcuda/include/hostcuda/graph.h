/* hostcuda/graph.h: what the nodes of a graph are told by; usable from C. */
#ifndef HOSTCUDA_GRAPH_H
#define HOSTCUDA_GRAPH_H

#include "hostcuda/abi.h"

typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef void (*cudaHostFn_t)(void *);

typedef struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void *userData;
} cudaHostNodeParams;

typedef struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize; /* bytes: 1, 2 or 4 */
    size_t width, height;        /* elements, rows */
} cudaMemsetParams;

enum cudaGraphExecUpdateResult {
    cudaGraphExecUpdateSuccess,
    cudaGraphExecUpdateError,
    cudaGraphExecUpdateErrorTopologyChanged
};

/* A launch in a graph: the kernel by its address, and one pointer to each argument. */
typedef struct hc_kernel_node {
    hc_launch launch;
    const void *entry;
    void **arguments;
} hc_kernel_node;

#endif
