/* closes_its_output.c: closes stdout and stderr, which is silly but harmless. */
#include "hostile.h"

#include <unistd.h>

void hostile_closes_its_output(const hostile_call *call) {
    (void)call;
    close(1);
    close(2);
}
