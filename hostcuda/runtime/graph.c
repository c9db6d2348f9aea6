/* graph.c: graphs made by stream capture: the captured operations in the order of their calls,
 * which respects every dependency. Launching a graph runs them as one operation of the stream. */
#include "internal.h"

#include <stdlib.h>

/* Shared by the graph, its executable graphs and queued launches; freed with the last. */
struct CUgraph_st {
    hc_op *first, *last;
    size_t count;
    int owners;
    cudaStream_t origin;
    bool invalid; /* a call that a capture forbids was made: cudaStreamEndCapture says so */
};

struct CUgraphExec_st {
    cudaGraph_t graph;
};

static void give_up(cudaGraph_t graph) {
    if (--graph->owners > 0) return;
    while (graph->first) {
        hc_op *op = graph->first;
        graph->first = op->next;
        hc_op_free(op);
    }
    free(graph);
}

void hc_graph_append(cudaGraph_t graph, hc_op *op) {
    if (graph->last)
        graph->last->next = op;
    else
        graph->first = op;
    graph->last = op;
    graph->count++;
}

void hc_graph_invalidate(cudaGraph_t graph) { graph->invalid = true; }

cudaError_t hc_StreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                  const char *file, int line) {
    (void)mode, (void)file, (void)line;
    if (!hc_stream_valid(stream)) return hc_fail(cudaErrorInvalidResourceHandle);
    if (hc_stream_is_default(stream)) return hc_fail(cudaErrorStreamCaptureUnsupported);
    hc_enter();
    cudaGraph_t graph = calloc(1, sizeof *graph);
    if (!graph) abort();
    graph->owners = 1;
    graph->origin = stream;
    hc_capture_set(stream, graph);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_StreamEndCapture(cudaStream_t stream, cudaGraph_t *graph, const char *file,
                                int line) {
    (void)file, (void)line;
    if (!hc_stream_valid(stream) || !graph) return hc_fail(cudaErrorInvalidResourceHandle);
    hc_enter();
    *graph = hc_stream_capture(stream);
    cudaError_t error = *graph && (*graph)->origin == stream ? cudaSuccess : cudaErrorInvalidValue;
    if (!error) {
        hc_capture_end(*graph);
        if ((*graph)->invalid) {
            give_up(*graph);
            *graph = NULL;
            error = cudaErrorStreamCaptureInvalidated;
        }
    }
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_StreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                 const char *file, int line) {
    (void)file, (void)line;
    if (!hc_stream_valid(stream)) return hc_fail(cudaErrorInvalidResourceHandle);
    *status =
        hc_stream_capture(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t hc_GraphInstantiateFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                     unsigned long long flags, const char *file, int line) {
    (void)flags, (void)file, (void)line;
    if (!exec || !graph) return hc_fail(cudaErrorInvalidValue);
    *exec = malloc(sizeof **exec);
    if (!*exec) abort();
    (*exec)->graph = graph;
    graph->owners++;
    return cudaSuccess;
}

static cudaError_t run_graph(hc_op *op) {
    cudaError_t error = cudaSuccess;
    for (hc_op *node = op->u.graph->graph->first; node && !error; node = node->next)
        error = node->run(node);
    return error;
}

static void drop_graph(hc_op *op) {
    give_up(op->u.graph->graph);
    free(op->u.graph);
}

cudaError_t hc_GraphLaunch(cudaGraphExec_t exec, cudaStream_t stream, const char *file, int line) {
    if (!exec) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    cudaError_t error = hc_sticky();
    if (!error) {
        hc_op *op = hc_op_new("cudaGraphLaunch", run_graph, file, line);
        op->u.graph = malloc(sizeof *exec); /* the launch outlives the handle */
        if (!op->u.graph) abort();
        *op->u.graph = *exec;
        exec->graph->owners++;
        op->drop = drop_graph;
        error = hc_queue(stream, op);
    }
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_GraphUpload(cudaGraphExec_t exec, cudaStream_t stream, const char *file, int line) {
    (void)stream, (void)file, (void)line;
    return exec ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
}

/* With nodes == NULL the count alone, as in CUDA. A node's handle is only a name. */
cudaError_t hc_GraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count,
                             const char *file, int line) {
    (void)file, (void)line;
    if (!graph || !count) return hc_fail(cudaErrorInvalidValue);
    size_t i = 0;
    for (hc_op *op = graph->first; nodes && op && i < *count; op = op->next)
        nodes[i++] = (cudaGraphNode_t)op;
    *count = graph->count;
    return cudaSuccess;
}

cudaError_t hc_GraphDestroy(cudaGraph_t graph, const char *file, int line) {
    (void)file, (void)line;
    if (!graph) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    give_up(graph);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_GraphExecDestroy(cudaGraphExec_t exec, const char *file, int line) {
    (void)file, (void)line;
    if (!exec) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    give_up(exec->graph);
    free(exec);
    hc_leave();
    return cudaSuccess;
}
