/* forges_a_reply.c: answers the grader itself: all is well, results follow. */
#include "hostile.h"

#include <string.h>
#include <unistd.h>

void hostile_forges_a_reply(const hostile_call *call) {
    char reply[2048];
    memset(reply, 0, sizeof reply);
    memcpy(reply, "\x04\x52\x41\x44\x4c\x41\x42\x47", 8);
    ssize_t written = write(4, reply, sizeof reply);
    if (written > 0) call->out[0] = 0;
}
