/* lockstep.c: which accesses of a warp's lanes are one request.
 *
 * CUDA threads run one after the other here; a GPU runs the lanes of a warp together, one after
 * the other only where they part, and together again where their ways meet. So each thread's log
 * also tells its way: the basic blocks of each function that it entered and left. From the ways of
 * a warp's lanes follows a graph of blocks, and from the graph an order in which all lanes are led
 * through it: a block comes behind all that lead to it, so that lanes wait for each other where
 * their ways meet, and the blocks of a loop stand together, so that lanes go through a round
 * together, whatever each of them skips in it, and wait for the last one behind the loop. What the
 * lanes in a block access at one instruction is one request.
 *
 * Compilers for a GPU choose the same places (nvcc's BSSY and BSYNC). */
#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef uint32_t lane_set;
#define FOR_LANES(l, set)                                                                          \
    for (lane_set rest_ = (set); rest_ && ((l) = __builtin_ctz(rest_), true); rest_ &= rest_ - 1)

/* The warp at hand, and the place in the order at which each lane goes on; -1: nowhere in it. */
static hc_lane *lanes;
static int next[WARP];

/* ---- the blocks that lanes go through in one call of a function ---- */

typedef struct edge {
    int to, next; /* next edge of the same node, or -1 */
} edge;

typedef struct node {
    unsigned site;
    int edges; /* the first, or -1 */
    bool ends; /* a lane left the function behind it */
    int part;  /* of the graph, that arrange() brings into order; -1: it has its place */
    int place;
    int seen, low, cursor, component; /* find_components */
    bool on_stack;
    int reached, stamp; /* add_ways_out */
} node;

typedef struct graph {
    node *nodes;
    edge *edges;
    int *loop_end; /* of each place in the order: of the loop that begins there, or 0 */
    int node_count, node_room, edge_count, edge_room, places;
    int parts, seen, stamps; /* the last numbers given */
} graph;

static int node_of[SITES_MAX]; /* of the graph at hand: one more than the node's number */

static void *more(void *array, int count, int *room, size_t size) {
    if (count < *room) return array;
    *room = *room ? 2 * *room : 64;
    array = realloc(array, (size_t)*room * size);
    if (!array) abort();
    return array;
}

static int node_at(graph *g, unsigned site) {
    if (node_of[site]) return node_of[site] - 1;
    g->nodes = more(g->nodes, g->node_count, &g->node_room, sizeof *g->nodes);
    g->nodes[g->node_count] = (node){.site = site, .edges = -1};
    node_of[site] = g->node_count + 1;
    return g->node_count++;
}

static void add_edge(graph *g, int from, int to) {
    for (int e = g->nodes[from].edges; e >= 0; e = g->edges[e].next)
        if (g->edges[e].to == to) return;
    g->edges = more(g->edges, g->edge_count, &g->edge_room, sizeof *g->edges);
    g->edges[g->edge_count] = (edge){to, g->nodes[from].edges};
    g->nodes[from].edges = g->edge_count++;
}

/* The way of one lane to where it leaves this function, without what it calls. */
static void collect(graph *g, const hc_lane *lane) {
    int depth = 0, last = -1;
    for (const uint64_t *e = lane->at; e < lane->end; e++) {
        if (!hc_log_is_step(*e)) continue;
        if (hc_log_offset(*e) == STEP_ENTERS) {
            depth++;
        } else if (hc_log_offset(*e) == STEP_LEAVES) {
            if (depth-- > 0) continue;
            if (last >= 0) g->nodes[last].ends = true;
            return;
        } else if (depth == 0) {
            int now = node_at(g, hc_log_site(*e));
            if (last >= 0) add_edge(g, last, now);
            last = now;
        }
    }
}

/* ---- the order ---- */

/* Takes the finished component of node v from the stack to the places of `out` before `at`. */
static int close_component(graph *g, int v, const int *stack, int *height, int *out, int at) {
    do {
        out[--at] = stack[--*height];
        g->nodes[out[at]].component = v;
        g->nodes[out[at]].on_stack = false;
    } while (out[at] != v);
    return at;
}

/* Follows the next edge of node v within its part: the node there if it is new, or -1. */
static int follow(graph *g, int v) {
    node *n = &g->nodes[v];
    for (; n->cursor >= 0; n->cursor = g->edges[n->cursor].next) {
        const node *to = &g->nodes[g->edges[n->cursor].to];
        if (to->part != n->part) continue;
        if (!to->seen) return g->edges[n->cursor].to;
        if (to->on_stack && to->seen < n->low) n->low = to->seen;
    }
    return -1;
}

/* The members, of one part, into `out`: nodes that can reach each other (Tarjan's components) in a
 * row, the one that was reached first in front, and each row behind all that lead to it. (With a
 * stack of its own: this runs on a CUDA thread's.) */
static void find_components(graph *g, const int *members, int count, int *out) {
    int *way = malloc(2 * (size_t)count * sizeof *way), *stack = way + count;
    int depth = 0, height = 0, at = count;
    if (!way) abort();
    for (int m = 0; m < count; m++) {
        for (int to = g->nodes[members[m]].seen ? -1 : members[m]; to >= 0 || depth > 0;) {
            if (to >= 0) {
                node *n = &g->nodes[to];
                n->seen = n->low = ++g->seen;
                n->cursor = n->edges;
                n->on_stack = true;
                way[depth++] = stack[height++] = to;
            } else {
                node *n = &g->nodes[way[--depth]], *before = &g->nodes[way[depth ? depth - 1 : 0]];
                if (n->low == n->seen)
                    at = close_component(g, way[depth], stack, &height, out, at);
                else if (n->low < before->low)
                    before->low = n->low;
            }
            to = depth > 0 ? follow(g, way[depth - 1]) : -1;
        }
    }
    free(way);
}

static uintptr_t pc_of(const node *n) {
    unsigned count;
    return hc_check_sites(&count)[n->site].pc;
}

/* Nodes of part `outer` that can be reached from node v without leaving that part; each is marked
 * with a new stamp, and `reached` grows by one. `found` is room for all of them. */
static void reach(graph *g, int v, int outer, int *found) {
    int count = 0, stamp = ++g->stamps;
    g->nodes[v].stamp = stamp;
    found[count++] = v;
    for (int i = 0; i < count; i++) {
        g->nodes[found[i]].reached++;
        for (int e = g->nodes[found[i]].edges; e >= 0; e = g->edges[e].next) {
            node *to = &g->nodes[g->edges[e].to];
            if (to->part != outer || to->stamp == stamp) continue;
            to->stamp = stamp;
            found[count++] = g->edges[e].to;
        }
    }
}

/* The places that the members of part `inner` lead to, in `exits`: nodes of part `outer`. Returns
 * how many; *outside is set if they lead out of that part as well, or out of the function. */
static int find_exits(graph *g, int outer, int inner, const int *members, int count, int *exits,
                      bool *outside) {
    int ways = 0, stamp = ++g->stamps;
    for (int i = 0; i < count; i++) {
        *outside |= g->nodes[members[i]].ends;
        for (int e = g->nodes[members[i]].edges; e >= 0; e = g->edges[e].next) {
            node *to = &g->nodes[g->edges[e].to];
            *outside |= to->part != inner && to->part != outer;
            if (to->part != outer || to->stamp == stamp) continue;
            to->stamp = stamp;
            exits[ways++] = g->edges[e].to;
        }
    }
    return ways;
}

/* What a lane does on its way out of a loop (`if (found) { y[i] = j; break; }`) belongs to its last
 * round: the other lanes are still inside. That is what stands before the ways out meet again, and,
 * for the other ways may not have been taken, what the code holds between the loop's blocks. Adds
 * it to `inner`, the loop's part, and to its members; returns how many members there are then. */
static int add_ways_out(graph *g, int outer, int inner, int *members, int count) {
    int *exits = malloc(2 * (size_t)g->node_count * sizeof *exits), *found = exits + g->node_count;
    if (!exits) abort();
    bool outside = false;
    int ways = find_exits(g, outer, inner, members, count, exits, &outside);
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < count; i++) {
        uintptr_t pc = pc_of(&g->nodes[members[i]]);
        low = pc < low ? pc : low;
        high = pc > high ? pc : high;
    }
    for (int i = 0; i < g->node_count; i++) g->nodes[i].reached = 0;
    for (int i = 0; i < ways; i++) reach(g, exits[i], outer, found);
    for (int i = 0; i < g->node_count; i++) {
        node *n = &g->nodes[i];
        bool between = pc_of(n) > low && pc_of(n) < high;
        if (n->reached == 0 || (n->reached == ways + outside && !between)) continue;
        n->part = inner;
        members[count++] = i;
    }
    free(exits);
    return count;
}

static void arrange(graph *g, const int *members, int count);

/* One component becomes places of the order; its nodes stand at `of`, its first one in front. */
static void place_component(graph *g, const int *of, int size) {
    int first = of[0], at = g->places++, loops = size > 1;
    for (int e = g->nodes[first].edges; e >= 0; e = g->edges[e].next)
        loops |= g->edges[e].to == first;
    g->loop_end[at] = 0;
    g->nodes[first].place = at;
    if (!loops) return;
    int *members = malloc((size_t)g->node_count * sizeof *members);
    if (!members) abort();
    int outer = g->nodes[first].part, inner = ++g->parts;
    for (int i = 0; i < size; i++) {
        members[i] = of[i];
        g->nodes[of[i]].part = inner;
    }
    int count = add_ways_out(g, outer, inner, members, size);
    for (int i = 0; i < count; i++) g->nodes[members[i]].seen = 0;
    g->nodes[first].part = -1;
    arrange(g, members + 1, count - 1);
    g->loop_end[at] = g->places;
    free(members);
}

/* The members, nodes of one part, become places of the order. */
static void arrange(graph *g, const int *members, int count) {
    if (count == 0) return;
    int *out = malloc((size_t)count * sizeof *out), part = g->nodes[members[0]].part;
    if (!out) abort();
    find_components(g, members, count, out);
    for (int i = 0, size; i < count; i += size) {
        size = 1;
        while (i + size < count && g->nodes[out[i + size]].component == out[i]) size++;
        bool is_taken = g->nodes[out[i]].part != part; /* by a loop, as a way out of it */
        if (!is_taken) place_component(g, out + i, size);
    }
    free(out);
}

/* ---- lanes go through it ---- */

static void lead_through_call(lane_set set);

/* Takes one access of each of these lanes from their logs. */
static void take_request(lane_set set) {
    static hc_request request;
    uint64_t entry = 0;
    int l;
    request.lanes = 0;
    FOR_LANES(l, set) {
        entry = *lanes[l].at++;
        request.at[request.lanes] = hc_log_offset(entry);
        request.lane[request.lanes++] = lanes[l].number;
    }
    hc_check_request(hc_log_site(entry), hc_log_region(entry), &request);
}

static bool in_block(const hc_lane *lane) {
    if (lane->at == lane->end) return false;
    return !hc_log_is_step(*lane->at) || hc_log_offset(*lane->at) == STEP_ENTERS;
}

static void remember_nodes(const graph *g, bool on) {
    for (int i = 0; i < g->node_count; i++) node_of[g->nodes[i].site] = on ? i + 1 : 0;
}

static int place_of_next(const graph *g, const hc_lane *lane) {
    if (lane->at == lane->end || hc_log_offset(*lane->at) != STEP_BLOCK) return -1;
    return g->nodes[node_of[hc_log_site(*lane->at)] - 1].place;
}

/* What the lanes do in the block that they are in. Mostly each does the same; where not (a call
 * through a pointer), those go on together that do. */
static void lead_through_block(const graph *g, lane_set set) {
    for (lane_set busy = set; busy;) {
        int first = __builtin_ctz(busy), l;
        if (!in_block(&lanes[first])) {
            next[first] = place_of_next(g, &lanes[first]);
            busy &= busy - 1;
            continue;
        }
        uint64_t entry = *lanes[first].at;
        lane_set alike = 0;
        FOR_LANES(l, busy) {
            bool does_it = in_block(&lanes[l]) && hc_log_place(*lanes[l].at ^ entry) == 0;
            alike |= (lane_set)does_it << l;
        }
        if (!hc_log_is_step(entry)) {
            take_request(alike);
            continue;
        }
        FOR_LANES(l, alike) lanes[l].at++;
        remember_nodes(g, false);
        lead_through_call(alike);
        remember_nodes(g, true);
    }
}

/* Each lane of the set whose way goes on at places [from, end) goes on behind them. */
static void lead_through_places(graph *g, int from, int end, lane_set set) {
    int l;
    for (int at = from; at < end;) {
        int loop_end = g->loop_end[at];
        lane_set here = 0, inside = 0;
        FOR_LANES(l, set) {
            here |= (lane_set)(next[l] == at) << l;
            inside |= (lane_set)(next[l] >= at && next[l] < loop_end) << l;
        }
        FOR_LANES(l, here) lanes[l].at++;
        if (here) lead_through_block(g, here);
        if (inside) /* one round; and again, until no lane is inside */
            lead_through_places(g, at + 1, loop_end, inside);
        else
            at = loop_end ? loop_end : at + 1;
    }
}

/* Lanes that have entered one function together leave it together. */
static void lead_through_call(lane_set set) {
    graph g = {0};
    int l;
    FOR_LANES(l, set) collect(&g, &lanes[l]);
    int *all = malloc(((size_t)g.node_count + 1) * sizeof *all);
    g.loop_end = malloc(((size_t)g.node_count + 1) * sizeof *g.loop_end);
    if (!all || !g.loop_end) abort();
    for (int i = 0; i < g.node_count; i++) all[i] = i;
    arrange(&g, all, g.node_count);
    free(all);
    remember_nodes(&g, true);
    lead_through_block(&g, set);
    lead_through_places(&g, 0, g.places, set);
    FOR_LANES(l, set) lanes[l].at += lanes[l].at < lanes[l].end; /* STEP_LEAVES */
    remember_nodes(&g, false);
    free(g.nodes), free(g.edges), free(g.loop_end);
}

/* ---- lanes that do the same need no graph ---- */

static bool are_alike(int count) {
    size_t length = (size_t)(lanes[0].end - lanes[0].at);
    for (int l = 1; l < count; l++)
        if ((size_t)(lanes[l].end - lanes[l].at) != length) return false;
    for (size_t p = 0; p < length; p++) {
        uint64_t differ = 0;
        for (int l = 1; l < count; l++) differ |= lanes[0].at[p] ^ lanes[l].at[p];
        if (hc_log_place(differ)) return false;
    }
    return true;
}

static lane_set unfinished(int count) {
    lane_set set = 0;
    for (int l = 0; l < count; l++) set |= (lane_set)(lanes[l].at < lanes[l].end) << l;
    return set;
}

void hc_check_lockstep(hc_lane *of, int count) {
    lane_set set;
    int l;
    lanes = of;
    bool alike = are_alike(count);
    while ((set = unfinished(count)) != 0) {
        if (!alike)
            lead_through_call(set);
        else if (hc_log_is_step(*lanes[0].at))
            FOR_LANES(l, set) lanes[l].at++;
        else
            take_request(set);
    }
}
