/* limits.h: up to which size the cases of a claim passed, and from which one on they failed. */
#ifndef TESTS_LIMITS_H
#define TESTS_LIMITS_H

#include "claim.h"

/* The running case is over: its sizes count for its outcome. */
void limits_close(claim *c);
/* The first size said of which all larger cases failed, and all smaller ones (two at least) passed;
 * NULL: there is none. */
const claim_size_limit *limits_found(const claim *c);

#endif
