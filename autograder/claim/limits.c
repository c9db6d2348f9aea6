/* limits.c: sizes of cases that passed and failed (limits.h). */
#include "limits.h"

#include <string.h>

void claim_size(claim *c, const char *name, long long size) {
    if (c->trial) return; /* of all calls of a lab: too many names, and nobody asks */
    for (int i = 0; i < CLAIM_SIZES; i++) {
        claim_size_limit *s = &c->size[i];
        if (s->name && strcmp(s->name, name) != 0) continue;
        if (!s->name) *s = (claim_size_limit){name, -1, -1, 0, -1};
        s->now = size;
        return;
    }
    claim_fail(c, "%s: more than %d sizes", c->name, CLAIM_SIZES);
}

void limits_close(claim *c) {
    for (int i = 0; i < CLAIM_SIZES && c->size[i].name; i++) {
        claim_size_limit *s = &c->size[i];
        if (s->now < 0) continue;
        if (c->case_failed && (s->least_failed < 0 || s->now < s->least_failed))
            s->least_failed = s->now;
        if (!c->case_failed && s->now > s->most_passed) s->most_passed = s->now;
        s->passed += !c->case_failed;
        s->now = -1;
    }
}

const claim_size_limit *limits_found(const claim *c) {
    for (int i = 0; i < CLAIM_SIZES && c->size[i].name; i++)
        if (c->size[i].passed >= 2 && c->size[i].least_failed > c->size[i].most_passed)
            return &c->size[i];
    return NULL;
}
