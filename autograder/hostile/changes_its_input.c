/* changes_its_input.c: writes to what it may only read. */
#include "hostile.h"

void hostile_changes_its_input(const hostile_call *call) { *(tl_real *)(size_t)call->in += 1; }
