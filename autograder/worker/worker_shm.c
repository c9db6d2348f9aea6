/* worker_shm.c: shared memory for a process that shares none.
 *
 * LLVM's OpenMP notes in a file of /dev/shm that it is loaded, and ends the process where it cannot
 * (before LLVM 17, and in a box it cannot). It calls a function of the C library, and the program's
 * own comes first: here the file is memory that nobody finds again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

int shm_open(const char *name, int flags, mode_t mode) {
    (void)mode;
    if (flags & O_CREAT) return memfd_create(name, MFD_CLOEXEC);
    errno = ENOENT;
    return -1;
}
