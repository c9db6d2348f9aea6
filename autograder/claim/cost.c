/* cost.c: counted memory traffic against a limit (cost.h). */
#include "cost.h"

#include <stdio.h>
#include <string.h>

#include "verdict.h"

call_target counting(const call_target *t) {
    call_target counted = *t;
    counted.counted = true;
    return counted;
}

static void tell(claim *c, const cost *k, int64_t count) {
    char least[60] = "";
    if (k->least > 0)
        snprintf(least, sizeof least, "; the least possible is %lld", (long long)k->least);
    claim_say(c, "%lld %s, and %lld are allowed%s%s%s", (long long)count, k->what,
              (long long)k->allowed, k->known ? "; " : "", k->known ? k->known : "", least);
    c->costs = call_costs_by_line(c->cost);
}

void expect_cost(claim *c, const call_target *t, const cost *k) {
    int64_t count = c->counter[k->which];
    finding f;
    if (count >= 0 && !c->case_failed) tell(c, k, count);
    if (c->case_failed || strcmp(t->device, "hostcuda") != 0) return;
    if (count < 0 && !c->verdicts) return;
    c->compared++;
    if (count >= 0 && count < k->least) {
        finding_take(c, "no_launch", false,
                     "%lld %s, and %s are %lld: the work is not done on the device",
                     (long long)count, k->what, k->arrays, (long long)k->least);
        return;
    }
    if (count >= 0 && count <= k->allowed) return;
    finding_begin(&f, c, count < 0 ? "grader" : call_counter_names[k->which]);
    if (count < 0)
        snprintf(f.text, sizeof f.text, "this build of hostcuda does not count %s", k->what);
    else
        memcpy(f.text, c->said, sizeof c->said);
    claim_take(c, &f, count < 0);
}
