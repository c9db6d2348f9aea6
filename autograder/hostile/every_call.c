/* every_call.c: a deed in front of a call, whatever its operation; linked with
 * --wrap=call_execute, so that the worker's loop comes here first.
 *
 * There are no arrays yet: a deed gets a number of its own to write to. */
#include "autograder/call/call_row.h"
#include "hostile.h"

#include <stdio.h>

void __real_call_execute(call_wire *w);
void __wrap_call_execute(call_wire *w);

void __wrap_call_execute(call_wire *w) {
    static tl_real nobodys[1];
    char operation[64];
    snprintf(operation, sizeof operation, "call-%s", call_rows[w->op].name);
    hostile_do(operation, &(hostile_call){NULL, nobodys, 1, nobodys});
    __real_call_execute(w);
}
