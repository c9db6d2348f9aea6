/* graph_rule.h: one differentiable operation at a time: its value, its rule, what it refuses. */
#ifndef TESTS_GRAPH_RULE_H
#define TESTS_GRAPH_RULE_H

#include "graph_build.h"

enum { RULE_LEAVES = 3 };

/* A program around one operation: whole-numbered leaves, the operation, a weighted sum. */
typedef struct rule_case {
    const char *name;
    int code, leaves, attributes;
    expect_shape leaf[RULE_LEAVES], result;
    int64_t attribute[8];
} rule_case;
#define RULE_SHAPE(...)                                                                            \
    { (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}, NULL }

/* Value and every gradient of each case, exactly; each operation is used twice, so that a rule that
 * overwrites a gradient fails. */
void expect_rules(claim *c, const rule_case *cases, size_t count);
/* Some inputs of each case need no gradient, in every way: they get none, the others get theirs. */
void expect_frozen_inputs(claim *c, const rule_case *cases, size_t count);
/* Nothing is recorded of a case whose inputs want no gradient, nor while recording is off. */
void expect_no_nodes(claim *c, const rule_case *cases, size_t count);
/* Runs the program, in which nobody asks for a gradient of y: it has no node and needs none. */
void expect_unrecorded(claim *c, graph *g, const call_target *t, int y, const char *what);
/* The first case is allowed; none of the others is, and the message says which shapes. */
void expect_refusals(claim *c, const rule_case *allowed, const rule_case *cases, size_t count);
/* The case and backward through it, in which one step after the other fails: the status comes back,
 * and nothing is kept. Values are another claim's. */
void expect_failures_told(claim *c, const call_target *t, const rule_case *o);

#endif
