/* node.c: nodes that a program adds to a graph. Each is made by the call that would put its work
 * into a stream, so it is checked as that is: the operations go to the node instead. */
#include "internal.h"

static hc_node *being_made; /* (under the lock) */

bool hc_node_is_made(void) { return being_made != NULL; }

bool hc_node_takes(hc_op *op) {
    if (!being_made) return false;
    hc_node_append(being_made, op);
    return true;
}

/* What a node does, as its kind says: calls of the runtime without a stream. */
typedef cudaError_t (*work)(const void *parameters, hc_site at);

static cudaError_t make(hc_node **node, work fill, const void *parameters, hc_site at) {
    *node = being_made = hc_node_new();
    cudaError_t error = fill(parameters, at);
    being_made = NULL;
    if (error) hc_node_give_up(*node);
    return error;
}

/* The nodes that it is after must be the graph's. */
static cudaError_t find_all(const hc_plan *plan, const cudaGraphNode_t *after, size_t count,
                            size_t *places) {
    for (size_t i = 0; i < count; i++) {
        places[i] = hc_plan_find(plan, after[i]);
        if (places[i] == plan->count) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

static cudaError_t nothing(const void *parameters, hc_site at) {
    (void)parameters, (void)at;
    return cudaSuccess;
}

static cudaError_t add(cudaGraphNode_t *handle, cudaGraph_t graph, const cudaGraphNode_t *after,
                       size_t count, work fill, const void *parameters, hc_site at) {
    enum { MOST = 256 };
    size_t places[MOST];
    bool given = parameters || fill == nothing;
    if (!handle || !graph || !given || (count && !after) || count > MOST)
        return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    hc_node *node;
    hc_plan *plan = hc_graph_plan(graph);
    cudaError_t error = find_all(plan, after, count, places);
    if (error) hc_fail(error);
    if (!error) error = make(&node, fill, parameters, at);
    if (!error) {
        hc_node_after(node, places, count);
        hc_plan_append(plan, node, node);
        hc_node_give_up(node); /* the plan's from here on */
        hc_check_host_call(handle, sizeof *handle, true, at);
        *handle = node;
    }
    hc_leave();
    return error;
}

/* ---- the kinds ---- */

static cudaError_t kernel(const void *parameters, hc_site at) {
    const hc_kernel_node *k = parameters;
    hc_launch launch = k->launch;
    (void)at; /* which the launch has, too */
    return hc_launch_noted(&launch, k->entry, k->arguments);
}

static cudaError_t copy_volume(const void *parameters, hc_site at) {
    return hc_Memcpy3DAsync(parameters, NULL, at.file, at.line);
}

typedef struct flat {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
} flat;

static cudaError_t copy_flat(const void *parameters, hc_site at) {
    const flat *c = parameters;
    return hc_MemcpyAsync(c->to, c->from, c->bytes, c->kind, NULL, at.file, at.line);
}

static cudaError_t set(const void *parameters, hc_site at) {
    const struct cudaMemsetParams *p = parameters;
    size_t element = p->elementSize, bytes = p->width * element;
    cudaError_t error = cudaSuccess;
    bool known = element == 1 || element == 2 || element == 4;
    if (!known || (p->height > 1 && p->pitch < bytes)) return hc_fail(cudaErrorInvalidValue);
    for (size_t y = 0; y < p->height && !error; y++)
        error = hc_set((char *)p->dst + y * p->pitch, (int)p->value, element, bytes, NULL, at);
    return error;
}

static cudaError_t host(const void *parameters, hc_site at) {
    const struct cudaHostNodeParams *p = parameters;
    return hc_LaunchHostFunc(NULL, p->fn, p->userData, at.file, at.line);
}

/* The child as it is now. */
static cudaError_t child(const void *parameters, hc_site at) {
    hc_plan *copy = hc_plan_copy(parameters);
    hc_node_takes(hc_plan_op(copy, "a child graph", at.file, at.line));
    hc_plan_give_up(copy); /* which the operation keeps */
    return cudaSuccess;
}

/* ---- the calls ---- */

cudaError_t hc_GraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                 const cudaGraphNode_t *after, size_t count, const char *file,
                                 int line) {
    return add(node, graph, after, count, nothing, NULL, (hc_site){file, line});
}

cudaError_t hc_GraphAddKernel(cudaGraphNode_t *node, cudaGraph_t graph,
                              const cudaGraphNode_t *after, size_t count, const hc_kernel_node *k,
                              const char *file, int line) {
    return add(node, graph, after, count, kernel, k, (hc_site){file, line});
}

cudaError_t hc_GraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *after, size_t count,
                                  const struct cudaMemcpy3DParms *p, const char *file, int line) {
    return add(node, graph, after, count, copy_volume, p, (hc_site){file, line});
}

cudaError_t hc_GraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                    const cudaGraphNode_t *after, size_t count, void *to,
                                    const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                    const char *file, int line) {
    flat c = {to, from, bytes, kind};
    return add(node, graph, after, count, copy_flat, &c, (hc_site){file, line});
}

cudaError_t hc_GraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                  const cudaGraphNode_t *after, size_t count,
                                  const struct cudaMemsetParams *p, const char *file, int line) {
    return add(node, graph, after, count, set, p, (hc_site){file, line});
}

cudaError_t hc_GraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                const cudaGraphNode_t *after, size_t count,
                                const struct cudaHostNodeParams *p, const char *file, int line) {
    return add(node, graph, after, count, host, p, (hc_site){file, line});
}

cudaError_t hc_GraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                      const cudaGraphNode_t *after, size_t count, cudaGraph_t one,
                                      const char *file, int line) {
    const hc_plan *plan = one ? hc_graph_plan(one) : NULL;
    return add(node, graph, after, count, child, plan, (hc_site){file, line});
}

cudaError_t hc_GraphExecSetKernel(cudaGraphExec_t exec, cudaGraphNode_t node,
                                  const hc_kernel_node *k, const char *file, int line) {
    if (!exec) return hc_fail(cudaErrorInvalidValue);
    hc_enter();
    const hc_plan *plan = hc_exec_plan(exec);
    size_t place = hc_exec_has_nodes(exec) ? hc_plan_find(plan, node) : plan->count;
    hc_node *changed;
    cudaError_t error = place < plan->count ? cudaSuccess : hc_fail(cudaErrorInvalidValue);
    if (!error) error = make(&changed, kernel, k, (hc_site){file, line});
    if (!error) {
        hc_node_after(changed, plan->nodes[place]->after, plan->nodes[place]->after_count);
        hc_exec_replace(exec, place, changed);
        hc_node_give_up(changed);
    }
    hc_leave();
    return error;
}
