/* tape.h: a tape as text and as a graph. */
#ifndef GRADLAB_SHOW_TAPE_H
#define GRADLAB_SHOW_TAPE_H

#include "show.h"
#include "tl/params.h"

/* Prints what `loss` was computed from, a line for each node, oldest first, and writes it as
 * s->out/tape.dot, in the language of Graphviz. Parameters have their names of *params. */
tl_status show_tape(const show *s, const tl_var *loss, const tl_params *params);

#endif
