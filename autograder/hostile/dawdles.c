/* dawdles.c: each call stays below its deadline; all of a claim's together are far too much. */
#include "hostile.h"

#include <time.h>

void hostile_dawdles(const hostile_call *call) {
    (void)call;
    for (clock_t end = clock() + CLOCKS_PER_SEC * 2 / 5; clock() < end;) {
    }
}
