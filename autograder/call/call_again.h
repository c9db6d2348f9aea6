/* call_again.h: a call made once more, in which something fails. Known to call.c alone, as is what
 * it shares with it. */
#ifndef CALL_AGAIN_H
#define CALL_AGAIN_H

#include "wire.h"

/* The same call with one launch, or one step, after the other failing: who does not say so, or says
 * something else, or keeps memory, gets a fault. `good`: the call when it went well. */
void call_failing_launches(const call_target *target, const call_request *request,
                           call_report *report);
void call_failing_steps(const call_target *target, const call_request *request,
                        const call_wire *good, call_report *report);

/* Of call.c: a call before it has frames; its frames, false if memory ran out; their end; elements
 * of its outputs that nobody has written. */
call_wire call_wire_of(const call_target *target, const call_request *request);
bool call_build_frames(const call_request *request, call_wire *wire);
void call_free_frames(call_wire *wire);
size_t call_count_unwritten(const call_request *request, const call_wire *wire);
/* Keeps the first fault: later ones are often its consequences. */
__attribute__((format(printf, 3, 4))) void call_fault(call_report *report, const char *kind,
                                                      const char *format, ...);

#endif
