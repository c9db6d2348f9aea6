/* poses_as_a_broken_worker.c: ends as a worker does that the grader is to blame for, so as to get
 * out of a verdict. */
#include "hostile.h"

#include <unistd.h>

#include "autograder/call/message.h"

void hostile_poses_as_a_broken_worker(const hostile_call *call) {
    (void)call;
    _exit(WORKER_BAD_REQUEST);
}
