/* claim.h: a claim is one Criterion test: its name, its random inputs, and what it found so far.
 *
 *   CLAIM(lab2_conv2d_fwd, forward_matches_definition) { … uses `claim *c` … }
 *
 * Inputs derive from GRADLAB_SEED (default 1) and the claim's name. A claim that compared nothing
 * fails; so does one whose bounds would let coarse arithmetic pass (expect_sharp). With
 * GRADLAB_BOUNDS set, each claim prints its largest err/bound, and fails above 0.5: for the
 * reference only.
 *
 * With GRADLAB_CLAIMS=file the claim leaves one line there (verdict.h). Then the cases after a
 * failed one still run, so that the line can say which cases have the failure in common; without
 * it, the first failure ends the test. */
#ifndef TESTS_CLAIM_H
#define TESTS_CLAIM_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "autograder/call/call.h"

struct finding;

/* A property of a case ("dilation") and how many cases with and without it failed and passed. */
enum { CLAIM_TRAITS = 16 };
typedef struct claim_trait_count {
    const char *name;
    int failed[2], passed[2]; /* [0] without, [1] with */
    int now;                  /* of the running case: 0, 1, -1 not said */
} claim_trait_count;

/* A size of the cases ("k"): up to which one they passed, and from which one on they failed. */
enum { CLAIM_SIZES = 3 };
typedef struct claim_size_limit {
    const char *name;
    long long least_failed, most_passed; /* -1: none has */
    int passed;                          /* how many */
    long long now;                       /* of the running case; -1 not said */
} claim_size_limit;

typedef struct claim {
    const char *name;
    uint64_t seed, state;       /* of the run; of this claim's draws */
    char call[512];             /* what is running: operation, device, shapes */
    const call_target *target;  /* and where; NULL if the case said nothing of it */
    char bound[200];            /* where its bound comes from, in words */
    double worst;               /* largest err/bound so far */
    char worst_call[512];       /* and where */
    char said[200];             /* claim_say */
    call_cost cost[CALL_COSTS]; /* of what that speaks of: the lines that cost most */
    int costs;
    int compared;      /* results looked at */
    int coarse, sharp; /* coarse results tried, and those that broke their bound */
    void **block;      /* memory of the claim's arrays */
    size_t blocks;
    /* only with GRADLAB_CLAIMS */
    const char *verdicts;      /* the file, or NULL */
    struct finding *finding;   /* what failed first, or NULL */
    char unwritten[CALL_TEXT]; /* claim_wait_for_array */
    bool case_failed;          /* nothing more is compared until the next case */
    int cases, failed_case;    /* begun; which of them the finding is of */
    double failed_at, began;   /* when: seconds */
    claim_trait_count trait[CLAIM_TRAITS];
    claim_size_limit size[CLAIM_SIZES];
    int64_t counter[CALL_COUNTERS]; /* of the latest call */
    bool copies;                    /* copies may do all of it: it need not launch anything */
    int trial; /* not 0: in a process of its own (cases.c), which ends with this at a failure */
} claim;
enum { CLAIM_AT_FAULT = 100 }; /* … or with this, if the test itself is at fault */

/* Seconds that a claim may take: a few, but minutes under sanitizers. Every test that has a limit
 * has this one: of those that run side by side Criterion forgets the later limits once it is told
 * an earlier one (BoxFort's bxfi_push_timeout: 48 bytes, which LeakSanitizer finds). */
enum { CLAIM_LIMIT_S = 600 };

#define CLAIM(suite, test)                                                                         \
    static void suite##_##test(claim *c);                                                          \
    Test(suite, test, .timeout = CLAIM_LIMIT_S) {                                                  \
        claim c;                                                                                   \
        claim_begin(&c, #suite "/" #test);                                                         \
        suite##_##test(&c);                                                                        \
        claim_end(&c);                                                                             \
    }                                                                                              \
    static void suite##_##test(claim *c)

void claim_begin(claim *c, const char *name);
void claim_end(claim *c);
/* What the arrays to come are drawn from: a seed, and a name, so that names do not share inputs. */
void claim_draw_from(claim *c, uint64_t seed, const char *name);
/* Closes the processes that hold the judged code, and judges what shows only then. */
void claim_end_of_calls(claim *c);
/* Says what is called next, for messages: operation, target and shapes. */
__attribute__((format(printf, 3, 4))) void claim_case(claim *c, const call_target *t,
                                                      const char *format, ...);
/* A line about what was measured, told with the verdict whatever that is. The last one stays. */
__attribute__((format(printf, 2, 3))) void claim_say(claim *c, const char *format, ...);
/* Says of the case just begun whether it has a property that failures may have in common; the names
 * are those of the patterns in a verdict. */
void claim_trait(claim *c, const char *name, bool has);
/* Says how large the case just begun is in one direction: if all cases up to some size pass and all
 * from another one on fail, the verdict names the two. */
void claim_size(claim *c, const char *name, long long size);
/* A result was compared; ratio is its err/bound. The worst is kept for GRADLAB_BOUNDS. */
void claim_note(claim *c, double ratio);
/* Ends the claim because the test itself is at fault: in grading an error, never a failure. */
__attribute__((format(printf, 2, 3), noreturn)) void claim_fail(claim *c, const char *format, ...);
/* Takes a failure (verdict.h): ends the claim without GRADLAB_CLAIMS, with it only if `last`. */
void claim_take(claim *c, const struct finding *f, bool last);

/* An output of this call holds elements never written: the comparison that follows says where. If
 * none does, the case fails with this line when it ends. */
void claim_wait_for_array(claim *c, const char *fault);

/* Devices, rungs and thread counts; ends with device NULL. Plain and rungs, one thread and more
 * threads than images or cores. A claim runs on the rows whose device GRADLAB_DEVICES lists
 * ("cpu,cuda"; default cpu) and, if GRADLAB_RUNGS is set, on those of these rungs with one thread:
 * in grading every call more is paid by every submission. GRADLAB_RUNGS=gemm:3, or portable, puts
 * these rungs where the plain rows are. A device that is listed and not there fails every claim:
 * what was asked for is never skipped. The first four rows are the cpu's; the first and the third
 * have one thread. */
extern call_target claim_targets[];
bool claim_runs_on(const call_target *t);
/* The same in another process of the claim, where a result has to come out again: one that has made
 * the first call could remember it. */
static inline call_target claim_elsewhere(const call_target *t) {
    call_target other = *t;
    other.worker = 1;
    return other;
}
#define FOR_TARGETS(t)                                                                             \
    for (const call_target *t = claim_targets; t->device; t++)                                     \
        if (!claim_runs_on(t)) {                                                                   \
        } else

/* Whether GRADLAB_RUNGS leaves these rungs in. */
bool claim_has_rungs(const call_target *t);

/* ---- arrays that live until the claim ends; zeroed ---- */

void *claim_memory(claim *c, size_t count, size_t size);
static inline double *doubles(claim *c, size_t n) { return claim_memory(c, n, sizeof(double)); }
static inline tl_real *reals(claim *c, size_t n) { return claim_memory(c, n, sizeof(tl_real)); }
static inline int32_t *ints(claim *c, size_t n) { return claim_memory(c, n, sizeof(int32_t)); }
tl_real *copy_reals(claim *c, const tl_real *x, size_t n);
/* The same numbers as the oracle takes them; exact. */
double *widen(claim *c, const tl_real *x, size_t n);
/* The numbers as TF32 holds them (11 significant bits); in the double build, as float does. */
double *coarsen(claim *c, const double *x, size_t n);

/* ---- draws: draw.c ---- */

uint64_t draw_bits(claim *c);
int draw_int(claim *c, int low, int high); /* low <= result <= high */
double draw_uniform(claim *c, double low, double high);
tl_real *draw_reals(claim *c, size_t n);                            /* uniform in [-1, 1] */
tl_real *draw_between(claim *c, size_t n, double low, double high); /* uniform */
/* Different numbers around 0, none nearer than `gap` to another or than gap/2 to 0: kinks of ReLU
 * and pooling stay out of reach of a smaller step. */
tl_real *draw_distinct(claim *c, size_t n, double gap);
int32_t *draw_labels(claim *c, size_t n, int classes);

#endif
