/* call_steps.h: the steps of one call, of which each can be made to fail. Known to the running side
 * of a call alone.
 *
 * A step is what the judged code asks others for: memory of the device and of the host, a copy, the
 * clearing of an array, and on the cpu every operation that it calls, by its name or through the
 * table, since the linker leads those calls here (CALL_WRAPS in mk/modes.mk). Whoever runs the call
 * again can have step n fail (w->failing_step), with a status that nobody else returns:
 * call_refusal in wire.h. A worker reports numbers, and what they say can only take points. */
#ifndef CALL_STEPS_H
#define CALL_STEPS_H

#include "call_row.h"

/* From here to the end steps are counted in w->steps, and the one that failed is noted in
 * w->refused. The first call of an operation of the table is the call itself, and no step of it;
 * a program's are all steps. Training asks the host for too much memory of its own to be refused
 * each piece. */
void call_steps_begin(call_wire *w, const tl_backend *device);
void call_steps_end(void);

/* Entries for copies and clearing that count, in place of the device's. */
void call_steps_table(tl_backend *ops);

/* Counts a step; not TL_OK: it has to fail, with that status. `which`: a call_step, or CALL_STEPS
 * and the number of an operation. */
tl_status call_step_now(int64_t which);

/* While a program is in a step on a device, nothing may wait, nor be copied between host and
 * device: who asks the table for it is refused, by a line that holds CALL_IN_A_STEP. */
void call_set_in_step(bool on);

/* What this thread does is ours, and no step, until false. */
void call_steps_pause(bool pause);

#endif
