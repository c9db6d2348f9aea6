/* writes_past_the_end.c: writes behind its array. */
#include "hostile.h"

void hostile_writes_past_the_end(const hostile_call *call) { call->out[call->n] = 1; }
