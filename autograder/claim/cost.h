/* cost.h: what a call cost in memory traffic, as hostcuda's check build counts it.
 *
 * It is counted beside the judged code, so it can take points and never give any: without right
 * results there are none. */
#ifndef TESTS_COST_H
#define TESTS_COST_H

#include "claim.h"

typedef struct cost {
    call_counter which;
    const char *what; /* is counted: "sectors of global memory" */
    int64_t allowed;
    int64_t least;      /* that nobody gets around; 0: anything may be, and nothing is said */
    const char *arrays; /* whose the least is: "x, w and y" */
    const char *known;  /* beside the count: "the given kernel has 5"; NULL: nothing */
} cost;

/* The same target, where the memory traffic of each call is counted. */
call_target counting(const call_target *t);

/* The call just made on such a target, against what is allowed: told with what is known and the
 * least, also where it is enough, with the lines of the judged code that cost most, and judged.
 * Outside of grading other builds than the check build are judged by their results alone. */
void expect_cost(claim *c, const call_target *t, const cost *k);

#endif
