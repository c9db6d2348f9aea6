/* dropout_threshold.c: the probability of dropout as an integer. (tl/layers.h) */
#include "tl/layers.h"

/* A 32-bit draw lies below floor(p * 2^32) with probability p, to 2^-32. The product is exact: it
 * only moves the exponent. p < 1 keeps the result below 2^32. */
uint32_t tl_dropout_threshold(double p) { return (uint32_t)(p * 4294967296.0); }
