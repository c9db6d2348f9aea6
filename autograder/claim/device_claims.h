/* device_claims.h: the claims that most operations of a device share, one line for each task.
 *
 *   CLAIM_LAUNCHES_DO_NOT_GROW(lab2_im2col, convert, 1)
 *   CLAIM_NOTHING_WAITS(lab2_im2col, convert, 1, WARM)
 *   CLAIM_NO_TWO_THREADS_MEET(lab2_im2col, convert_small, 3)
 *
 * Each takes a function of the suite's that makes the call, and how many operations or cases that
 * function knows, by number. Their names are those of lab.toml. */
#ifndef TESTS_DEVICE_CLAIMS_H
#define TESTS_DEVICE_CLAIMS_H

#include "claim.h"
#include "expect.h"

/* Calls operation `op` of the task with this many images and judges the result; the last call that
 * it makes is that operation's. */
typedef void (*device_call)(claim *c, const call_target *t, int op, int images);

/* The batch belongs into the grid: a loop over images on the host pays its launches n times. Two
 * images and nine, each operation alone; it launches something, and no more for nine than for two.
 * Only hostcuda counts; elsewhere the results are judged alone. Launches fail here on purpose, too
 * (launches_failing). */
#define CLAIM_LAUNCHES_DO_NOT_GROW(suite, call, ops)                                               \
    CLAIM(suite, launches_do_not_grow_with_the_batch) { device_launches(c, call, ops); }
void device_launches(claim *c, device_call call, int ops);

/* An operation only queues work: recorded as part of a step, it must not wait, copy to the host or
 * allocate. WARM: a call before sets up what is set up once, such as a BLAS. COLD: nothing is. */
#define CLAIM_NOTHING_WAITS(suite, call, ops, first)                                               \
    CLAIM(suite, nothing_waits_for_the_device) { device_waits(c, call, ops, first); }
typedef enum device_first { COLD, WARM } device_first;
void device_waits(claim *c, device_call call, int ops, device_first first);

/* Small cases for the checked build of hostcuda, which names every pair of threads that meet in an
 * element without a barrier, and every read of what nobody wrote; a right result proves neither. */
#define CLAIM_NO_TWO_THREADS_MEET(suite, call, cases)                                              \
    CLAIM(suite, no_two_threads_meet) { device_meet(c, call, cases); }
typedef void (*device_case)(claim *c, const call_target *t, int which);
void device_meet(claim *c, device_case call, int cases);

/* Tiles and parts of sums may depend on sizes, never on who computes them. Plain path and (unless
 * GRADLAB_RUNGS leaves them out) rungs of the cpu, each by itself, whatever GRADLAB_DEVICES says.
 * One thread gives the bits, more threads must repeat them. Each call of a case draws the same
 * numbers. */
#define CLAIM_BITS_DO_NOT_DEPEND_ON_THREADS(suite, call, cases)                                    \
    CLAIM(suite, bits_do_not_depend_on_threads) { threads_bits(c, call, cases); }
typedef struct threads_result {
    const char *name;
    const tl_real *value;
    expect_shape shape;
} threads_result;
typedef threads_result (*threads_call)(claim *c, const call_target *t, int which);
void threads_bits(claim *c, threads_call call, int cases);

/* The same target, where after each call its launches are made to fail, one by one, and the
 * operation must say so: hostcuda alone can do that. A task without a claim about launches asks for
 * it in another one. */
call_target launches_failing(const call_target *t);

/* The same target, where calls are recorded as part of a step and then launched: who waits for the
 * device, copies to the host or allocates there is refused. A task without a claim of its own about
 * that asks for it in another one, after the same call made plainly. */
call_target recorded_step(const call_target *t);

/* The same target, where after each call its steps (call_step) are made to fail, one by one, those
 * of a program on the cpu alone: it must say so, and hold nothing afterwards, of the device nor of
 * the host. */
call_target steps_failing(const call_target *t);

#endif
