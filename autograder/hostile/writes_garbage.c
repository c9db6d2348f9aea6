/* writes_garbage.c: writes to a file that it did not open. */
#include "hostile.h"

#include <unistd.h>

void hostile_writes_garbage(const hostile_call *call) {
    static const char text[] = "debug: x is 3\n";
    for (int i = 0; i < 100; i++)
        if (write(4, text, sizeof text) < 0) call->out[0] = 0;
}
