/* cases.h: what a student's own cases find out: labs/labN/cases.toml, judged by broken versions of
 * the solution.
 *
 * A case is data: a call of the lab, its numbers, and the seed of its inputs. It runs as one of the
 * claims' cases does, against the oracle, but with a worker that holds a broken version. Where it
 * fails, it has noticed the version. Each version is tried by a process of its own.
 *
 * GRADLAB_CASES names a file that autograder/grade/cases.py has written: a line `version TASK` for
 * each broken version, the first being GRADLAB_BROKEN/1 (0 is the solution itself), then
 * `case KIND SEED NUMBER…`, the numbers in the order of lab.toml.
 */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "claim.h"

enum { CASES_NUMBERS = 24 };

typedef struct case_kind {
    const char *name; /* as `call` in cases.toml */
    /* Whether there is such a call, with a line in tl_error() if not. NULL: there always is. */
    tl_status (*check)(const double number[CASES_NUMBERS]);
    /* Draws, calls and compares, as a claim does. */
    void (*run)(claim *c, const call_target *t, const double number[CASES_NUMBERS]);
} case_kind;

/* Fails unless at least CASES_ENOUGH of the broken versions are noticed. kinds ends with a name of
 * NULL. */
enum { CASES_ENOUGH = 8 };
void expect_noticed(claim *c, const case_kind kinds[]);

#endif
