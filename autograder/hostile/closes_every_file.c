/* closes_every_file.c: closes files that it did not open, the pipe to the grader among them. */
#include "hostile.h"

#include <unistd.h>

void hostile_closes_every_file(const hostile_call *call) {
    (void)call;
    for (int file = 3; file < 64; file++) close(file);
}
