/* graph.c: graphs and executable graphs: handles of plans (plan.c), made node by node (node.c) or
 * by the capture of streams. */
#include "internal.h"

#include <stdlib.h>

struct CUgraph_st {
    cudaGraph_t next; /* of those that are not destroyed */
    uint64_t number;
    hc_plan *plan;
    cudaStream_t origin; /* of a capture */
    bool invalid;        /* a call that it forbids was made: cudaStreamEndCapture says so */
};

struct CUgraphExec_st {
    hc_plan *plan;
    uint64_t of; /* the graph's number */
};

static cudaGraph_t graphs;

hc_plan *hc_graph_plan(cudaGraph_t graph) { return graph->plan; }
hc_plan *hc_exec_plan(cudaGraphExec_t exec) { return exec->plan; }

/* Nodes are their graph's: with it they are gone, though what was made of it lives on. */
bool hc_exec_has_nodes(cudaGraphExec_t exec) {
    cudaGraph_t graph = graphs;
    while (graph && graph->number != exec->of) graph = graph->next;
    return graph != NULL;
}

/* Another node in its place: launches that are queued keep the old one. */
void hc_exec_replace(cudaGraphExec_t exec, size_t place, hc_node *node) {
    hc_plan *plan = hc_plan_new(), *old = exec->plan;
    for (size_t i = 0; i < old->count; i++)
        hc_plan_append(plan, i == place ? node : old->nodes[i], old->handles[i]);
    exec->plan = plan;
    hc_plan_give_up(old);
}

/* The captured operation comes after all before it. */
void hc_graph_append(cudaGraph_t graph, hc_op *op) {
    hc_node *node = hc_node_new();
    size_t before = graph->plan->count - 1;
    hc_node_after(node, &before, graph->plan->count ? 1 : 0);
    hc_node_append(node, op);
    hc_plan_append(graph->plan, node, node);
    hc_node_give_up(node);
}

void hc_graph_invalidate(cudaGraph_t graph) { graph->invalid = true; }

void hc_graphs_invalidate(void) {
    for (cudaGraph_t graph = graphs; graph; graph = graph->next)
        if (graph->origin && hc_stream_valid(graph->origin) &&
            hc_stream_capture(graph->origin) == graph)
            graph->invalid = true;
}

static cudaGraph_t graph_new(hc_plan *plan, cudaStream_t origin) {
    cudaGraph_t graph = calloc(1, sizeof *graph);
    if (!graph) abort();
    static uint64_t made;
    graph->number = ++made;
    graph->plan = plan;
    graph->origin = origin;
    graph->next = graphs, graphs = graph;
    return graph;
}

cudaError_t hc_GraphCreate(cudaGraph_t *graph, unsigned flags, const char *file, int line) {
    (void)file, (void)line; /* (the check build's) */
    if (!graph || flags) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_check_host_call(graph, sizeof *graph, true, ((hc_site){file, line}));
    *graph = graph_new(hc_plan_new(), NULL);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_GraphClone(cudaGraph_t *clone, cudaGraph_t graph, const char *file, int line) {
    (void)file, (void)line;
    if (!clone || !graph) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_check_host_call(clone, sizeof *clone, true, ((hc_site){file, line}));
    *clone = graph_new(hc_plan_copy(graph->plan), NULL);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_StreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                  const char *file, int line) {
    (void)mode, (void)file, (void)line;
    if (!hc_stream_valid(stream)) return hc_fail(cudaErrorInvalidResourceHandle);
    if (hc_stream_is_default(stream)) return hc_fail(cudaErrorStreamCaptureUnsupported);
    hc_enter();
    hc_capture_set(stream, graph_new(hc_plan_new(), stream));
    hc_leave();
    return cudaSuccess;
}

/* False: it is none, or no longer. */
static bool graph_free(cudaGraph_t graph) {
    cudaGraph_t *at = &graphs;
    while (*at && *at != graph) at = &(*at)->next;
    if (!*at) return false;
    *at = graph->next;
    hc_plan_give_up(graph->plan);
    free(graph);
    return true;
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
            graph_free(*graph);
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
    hc_enter();
    *exec = malloc(sizeof **exec);
    if (!*exec) abort();
    (*exec)->plan = hc_plan_copy(graph->plan), (*exec)->of = graph->number;
    hc_leave();
    return cudaSuccess;
}

/* The graph must be the executable one's but for what its nodes do. */
cudaError_t hc_GraphExecUpdatePlan(cudaGraphExec_t exec, cudaGraph_t graph, const char *file,
                                   int line) {
    (void)file, (void)line;
    if (!exec || !graph) return hc_fail(cudaErrorInvalidValue);
    if (!hc_plan_same_form(exec->plan, graph->plan))
        return hc_fail(cudaErrorGraphExecUpdateFailure);
    hc_enter();
    hc_plan *plan = hc_plan_copy(graph->plan);
    hc_plan_give_up(exec->plan);
    exec->plan = plan;
    hc_leave();
    return cudaSuccess;
}

/* With nodes == NULL the count alone, as in CUDA. */
cudaError_t hc_GraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count,
                             const char *file, int line) {
    (void)file, (void)line;
    if (!graph || !count) return hc_fail(cudaErrorInvalidValue);
    for (size_t i = 0; nodes && i < graph->plan->count && i < *count; i++)
        nodes[i] = graph->plan->handles[i];
    *count = graph->plan->count;
    return cudaSuccess;
}

cudaError_t hc_GraphDestroy(cudaGraph_t graph, const char *file, int line) {
    (void)file, (void)line;
    hc_enter();
    cudaError_t error = graph_free(graph) ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
    hc_leave();
    return error;
}

cudaError_t hc_GraphExecDestroy(cudaGraphExec_t exec, const char *file, int line) {
    (void)file, (void)line;
    if (!exec) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_plan_give_up(exec->plan);
    free(exec);
    hc_leave();
    return cudaSuccess;
}

cudaError_t hc_GraphLaunch(cudaGraphExec_t exec, cudaStream_t stream, const char *file, int line) {
    if (!exec) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    cudaError_t error = hc_sticky();
    if (!error) error = hc_queue(stream, hc_plan_op(exec->plan, "cudaGraphLaunch", file, line));
    if (error) hc_fail(error);
    hc_leave();
    return error;
}

cudaError_t hc_GraphUpload(cudaGraphExec_t exec, cudaStream_t stream, const char *file, int line) {
    (void)stream, (void)file, (void)line;
    return exec ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
}
