/* schedule_test.c: learning rates as functions of the step number. */
#include "autograder/call/call_ops.h"
#include "autograder/oracle/oracle.h"
#include "autograder/claim/bound.h"
#include "autograder/claim/expect.h"
#include "autograder/claim/optim_golden.h"
#include "cases.h"

static const tl_schedule schedules[] = {
    {TL_SCHEDULE_CONSTANT, 0.05, 0, 1, 10},   {TL_SCHEDULE_STEP, 0.1, 0.1, 7, 30},
    {TL_SCHEDULE_STEP, 0.3, 0.5, 1, 20},      {TL_SCHEDULE_STEP, 0.1, 0.1, 100, 50},
    {TL_SCHEDULE_COSINE, 0.1, 0, 1, 25},      {TL_SCHEDULE_COSINE, 0.1, 0, 1, 1},
    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 5, 20},  {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 1, 9},
    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 20, 20}, {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 31, 20},
};

/* A kind reads its own numbers alone, and steps are 64 bits long; `first` is where three begin. */
static const struct {
    tl_schedule o;
    uint64_t first;
} unusual[] = {
    {{TL_SCHEDULE_CONSTANT, 0.05, 0, 0, 0}, 0},
    {{TL_SCHEDULE_STEP, 0.1, 0.5, 3, 0}, 5},
    {{TL_SCHEDULE_COSINE, 0.1, 0, 0, 25}, 7},
    {{TL_SCHEDULE_STEP, 0.1, 0.5, UINT64_C(3000000000), UINT64_C(9000000000)},
     UINT64_C(5999999999)},
    {{TL_SCHEDULE_TRIANGULAR, 0.2, 0, UINT64_C(3000000000), UINT64_C(9000000000)},
     UINT64_C(6000000000)},
};

/* What their kind divides by is 0, or there is no such kind: the rate is NaN. */
static const tl_schedule senseless[] = {
    {TL_SCHEDULE_STEP, 0.1, 0.1, 0, 30},    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 0, 20},
    {TL_SCHEDULE_TRIANGULAR, 0.2, 0, 5, 0}, {TL_SCHEDULE_COSINE, 0.1, 0, 1, 0},
    {(tl_schedule_kind)4, 0.1, 0, 1, 1},
};

static const char *const kinds[] = {"constant", "step", "cosine", "triangular", "unknown"};

/* In double in every build. A power may be formed by multiplication, one rounding a turn. */
void expect_rates(claim *c, const tl_schedule *o, uint64_t first, uint64_t count) {
    double *lr = doubles(c, count), *want = doubles(c, count), *bound = doubles(c, count);
    call_report r;
    claim_case(c, &claim_targets[0], "schedule kind %d (%s), turn %llu, total %llu", (int)o->kind,
               kinds[o->kind], (unsigned long long)o->turn, (unsigned long long)o->total);
    claim_trait(c, "cosine", o->kind == TL_SCHEDULE_COSINE);
    claim_trait(c, "triangular", o->kind == TL_SCHEDULE_TRIANGULAR);
    claim_trait(c, "steps", o->kind == TL_SCHEDULE_STEP);
    claim_trait(c, "unread_number", o->turn == 0 || o->total == 0);
    claim_trait(c, "long_run", o->total > UINT32_MAX);
    call_schedule_lr(&claim_targets[0], &r, lr, count, first, o);
    expect_ok(c, &r);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t i = first + k;
        want[k] = oracle_schedule((int)o->kind, o->base, o->factor, o->turn, o->total, i);
        uint64_t turns = o->turn ? i / o->turn : 0;
        bound[k] = bound_double(16 + turns) * (o->kind == TL_SCHEDULE_STEP ? want[k] : o->base);
    }
    expect_numbers(c, "learning rate", lr, want, bound, (int)count);
}

CLAIM(lab5_schedule, every_kind_follows_its_closed_form) {
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
        expect_rates(c, &schedules[s], 0, schedules[s].total);
    for (size_t s = 0; s < sizeof unusual / sizeof *unusual; s++)
        expect_rates(c, &unusual[s].o, unusual[s].first, 3);
    for (size_t s = 0; s < sizeof senseless / sizeof *senseless; s++) {
        const tl_schedule *o = &senseless[s];
        double lr[3];
        call_report r;
        claim_case(c, &claim_targets[0],
                   "schedule kind %d (%s), turn %d, total %d: no number at all", (int)o->kind,
                   kinds[o->kind], (int)o->turn, (int)o->total);
        call_schedule_lr(&claim_targets[0], &r, lr, 3, 0, o);
        expect_ok(c, &r);
        for (int i = 0; i < 3; i++)
            expect_true(c, isnan(lr[i]), "the learning rate of step %d is %g", i, lr[i]);
    }
}

/* A run that goes on at step i needs nothing but i: from any first step the same numbers. */
CLAIM(lab5_schedule, any_first_step_gives_the_same_rates) {
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
        const tl_schedule *o = &schedules[s];
        double *all = doubles(c, o->total), *rest = doubles(c, o->total);
        uint64_t first = o->total / 2;
        call_report r;
        claim_case(c, &claim_targets[0], "schedule kind %d (%s) from step 0 and from step %d",
                   (int)o->kind, kinds[o->kind], (int)first);
        call_schedule_lr(&claim_targets[0], &r, all, o->total, 0, o);
        expect_ok(c, &r);
        call_schedule_lr(&claim_targets[0], &r, rest, o->total - first, first, o);
        expect_ok(c, &r);
        for (uint64_t i = first; i < o->total; i++)
            expect_true(c, rest[i - first] == all[i], "step %d: %.17g at once, %.17g later", (int)i,
                        all[i], rest[i - first]);
    }
}

/* torch.optim.lr_scheduler's StepLR, CosineAnnealingLR and a triangle of LambdaLR. */
CLAIM(lab5_schedule, rates_are_those_of_pytorch) {
    for (size_t s = 0; s < sizeof schedule_goldens / sizeof *schedule_goldens; s++) {
        const schedule_golden *run = &schedule_goldens[s];
        double *lr = doubles(c, GOLDEN_RATES);
        call_report r;
        claim_case(c, &claim_targets[0], "schedule %s", run->name);
        call_schedule_lr(&claim_targets[0], &r, lr, GOLDEN_RATES, 0, &run->o);
        expect_ok(c, &r);
        /* PyTorch goes on from rate to rate: an error of each step stays */
        for (int i = 0; i < GOLDEN_RATES; i++)
            expect_number(c, "learning rate", lr[i], run->lr[i],
                          bound_double((size_t)(8 * (i + 1))) * run->o.base);
    }
}
