/* recurses.c: calls itself without end. */
#include "hostile.h"

static volatile int bottom; /* never reached: it is 0 */

static int deeper(int n) {
    volatile char room[4000];
    if (n == bottom) return 0;
    room[n % 4000] = (char)n;
    return deeper(n + 1) + room[(n + 1) % 4000];
}

void hostile_recurses(const hostile_call *call) { call->out[0] = (tl_real)deeper(1); }
