/* takes_its_time.c: is slow, but answers. */
#include "hostile.h"

#include <unistd.h>

void hostile_takes_its_time(const hostile_call *call) {
    (void)call;
    usleep(10000);
}
