/* plan.c: what a graph does: a list of nodes, each behind those that it depends on. Where two nodes
 * depend on neither, the seed says which runs first, so a dependency that was forgotten shows. What
 * a stream's capture records is a chain in the order of the calls.
 *
 * Each handle of a graph, also of an executable one, has a plan of its own; nodes, which never
 * change, are shared by plans. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

hc_node *hc_node_new(void) {
    hc_node *node = calloc(1, sizeof *node);
    if (!node) abort();
    node->owners = 1;
    return node;
}

void hc_node_append(hc_node *node, hc_op *op) {
    if (node->last)
        node->last->next = op;
    else
        node->first = op;
    node->last = op;
}

/* Before it is in a plan: the nodes of these places come first. */
void hc_node_after(hc_node *node, const size_t *places, size_t count) {
    if (count == 0) return;
    node->after = malloc(count * sizeof *places);
    if (!node->after) abort();
    memcpy(node->after, places, count * sizeof *places);
    node->after_count = count;
}

void hc_node_give_up(hc_node *node) {
    if (--node->owners > 0) return;
    while (node->first) {
        hc_op *op = node->first;
        node->first = op->next;
        hc_op_free(op);
    }
    free(node->after);
    free(node);
}

hc_plan *hc_plan_new(void) {
    hc_plan *plan = calloc(1, sizeof *plan);
    if (!plan) abort();
    plan->owners = 1;
    plan->chain = true;
    return plan;
}

void hc_plan_give_up(hc_plan *plan) {
    if (--plan->owners > 0) return;
    for (size_t i = 0; i < plan->count; i++) {
        hc_node_give_up(plan->nodes[i]);
        hc_node_give_up(plan->handles[i]);
    }
    free(plan->nodes);
    free(plan->handles);
    free(plan);
}

/* (both get an owner more) */
void hc_plan_append(hc_plan *plan, hc_node *node, hc_node *handle) {
    size_t count = plan->count;
    if ((count & (count - 1)) == 0) { /* room in powers of two */
        size_t bytes = (count ? 2 * count : 1) * sizeof(hc_node *);
        plan->nodes = realloc(plan->nodes, bytes);
        plan->handles = realloc(plan->handles, bytes);
        if (!plan->nodes || !plan->handles) abort();
    }
    plan->nodes[count] = node, plan->handles[count] = handle;
    plan->count++;
    node->owners++, handle->owners++;
    if (count) plan->chain &= node->after_count == 1 && node->after[0] == count - 1;
}

hc_plan *hc_plan_copy(const hc_plan *plan) {
    hc_plan *copy = hc_plan_new();
    for (size_t i = 0; i < plan->count; i++) hc_plan_append(copy, plan->nodes[i], plan->handles[i]);
    return copy;
}

size_t hc_plan_find(const hc_plan *plan, const hc_node *handle) {
    size_t i = 0;
    while (i < plan->count && plan->handles[i] != handle) i++;
    return i;
}

/* As many nodes of the same kinds, each after the same others. */
bool hc_plan_same_form(const hc_plan *a, const hc_plan *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const hc_node *m = a->nodes[i], *n = b->nodes[i];
        same = m->after_count == n->after_count && !m->first == !n->first;
        if (same && m->first) same = m->first->run == n->first->run;
        if (same && m->after_count)
            same = memcmp(m->after, n->after, m->after_count * sizeof *m->after) == 0;
    }
    return same;
}

/* ---- as an operation ---- */

static cudaError_t run_node(const hc_node *n) {
    cudaError_t error = cudaSuccess;
    for (hc_op *op = n->first; op && !error; op = op->next) error = op->run(op);
    return error;
}

static bool may_run(const hc_node *n, const bool *done) {
    for (size_t k = 0; k < n->after_count; k++)
        if (!done[n->after[k]]) return false;
    return true;
}

/* One of those that may run: the first always may, for what it is after stands before it. */
static size_t draw_next(const hc_plan *plan, const bool *done, size_t first) {
    static uint64_t draws;
    size_t next = first;
    uint64_t seen = 0;
    for (size_t i = first; i < plan->count; i++) {
        if (done[i] || !may_run(plan->nodes[i], done)) continue;
        if (hc_mix(hc_options_get()->seed ^ ++draws) % ++seen == 0) next = i;
    }
    return next;
}

static cudaError_t run_plan(hc_op *op) {
    const hc_plan *plan = op->u.plan;
    cudaError_t error = cudaSuccess;
    bool *done = calloc(plan->count + 1, sizeof *done);
    if (!done) abort();
    for (size_t first = 0; first < plan->count && !error;) {
        size_t next = plan->chain ? first : draw_next(plan, done, first);
        error = run_node(plan->nodes[next]);
        done[next] = true;
        while (first < plan->count && done[first]) first++;
    }
    free(done);
    return error;
}

static void drop_plan(hc_op *op) { hc_plan_give_up(op->u.plan); }

/* It keeps the plan, which may outlive its handle. */
hc_op *hc_plan_op(hc_plan *plan, const char *name, const char *file, int line) {
    hc_op *op = hc_op_new(name, run_plan, file, line);
    op->u.plan = plan;
    plan->owners++;
    op->drop = drop_plan;
    return op;
}
