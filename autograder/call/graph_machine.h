/* graph_machine.h: the state of a running graph program. Known to call_graph*.c alone. */
#ifndef CALL_GRAPH_MACHINE_H
#define CALL_GRAPH_MACHINE_H

#include "graph.h"
#include "call_row.h"

#include "tl/module.h"

typedef struct graph_variable {
    tl_var *var;    /* NULL for a buffer, and for whatever RESET made invalid */
    tl_tensor *own; /* value of a leaf, which the tape does not own; NULL for results */
    tl_var *leaf;   /* a parameter: its variable, owned here */
    tl_tensor *buffer;
    bool of_net; /* var or buffer belongs to the net */
} graph_variable;

typedef struct graph_machine {
    tl_ctx *ctx;
    call_arguments *a;
    tl_tape *tape;
    tl_module *net;
    tl_module_seed seed;
    graph_variable *variable;
    size_t variables, capacity;
    tl_real *in, *out; /* host copies of buffers 1 and 0 */
    size_t in_used, in_count, out_used, out_count, labels_used;
    void **scratch; /* device memory of losses, until the program ends */
    size_t scratches;
} graph_machine;

typedef tl_status (*graph_run_fn)(graph_machine *m, const int64_t *o);
typedef struct graph_row {
    int operands;
    graph_run_fn run;
} graph_row;

/* Variable number v, TL_EINVAL if it is not (or no longer) there. */
tl_status graph_var(graph_machine *m, int64_t v, tl_var **var);
/* Appends a variable; the slot is valid until the next one is appended. */
tl_status graph_push(graph_machine *m, graph_variable variable);
/* Device memory that lives until the program ends. */
tl_status graph_scratch(graph_machine *m, void **block, size_t bytes);
/* The next values from buffer 1 into a tensor. */
tl_status graph_load(graph_machine *m, tl_tensor *t);
/* One more number for buffer 0. */
tl_status graph_put(graph_machine *m, double value);

/* Operations and modules; NULL for codes that are none. call_graph_ops.c */
graph_row graph_op_row(int64_t code);

#endif
