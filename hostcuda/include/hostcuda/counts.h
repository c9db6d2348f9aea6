/* counts.h: what the kernels of a program did, for a program: an autograder, a test, a benchmark;
 * and what its host code does where a launch fails.
 *
 * The ordinary build counts launches; CHECK=1 also counts memory, once count_memory(true) was
 * called or HOSTCUDA_PROFILE is set. All numbers are exact and repeat; README.md says what each
 * means. The function is hidden, as all of hostcuda: a plug-in hands it out by a way of its own. */
#ifndef HOSTCUDA_COUNTS_H
#define HOSTCUDA_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOSTCUDA_COUNTS_ABI = 2 };

typedef struct hostcuda_kernel_counts {
    const char *kernel; /* as written at the launch; lives as long as the plug-in */
    uint64_t launches, blocks, threads;
    uint64_t loads, stores, atomics;          /* of single threads, global and shared memory */
    uint64_t global_requests, global_sectors; /* of warps; sectors of 32 bytes; of these ... */
    uint64_t global_load_requests, global_load_sectors;   /* ... the plain loads */
    uint64_t global_store_requests, global_store_sectors; /* ... the plain stores */
    uint64_t shared_requests, bank_conflicts; /* of warps; cycles beyond the first of a request */
    uint64_t requests, partial_requests;      /* all; those without all lanes of the warp */
} hostcuda_kernel_counts;

typedef struct hostcuda_counts {
    int abi;
    uint64_t (*launches)(void); /* since the start or the last reset */
    int (*kernels)(hostcuda_kernel_counts *out,
                   int room); /* how many there are; fills up to room */
    void (*reset)(void);
    bool (*count_memory)(bool on); /* false: this is not a CHECK=1 build */
    /* The n-th launch of a kernel from now on fails: it runs nothing, and cudaGetLastError gives
     * cudaErrorLaunchOutOfResources. 0: none does; a failure that nobody asked for is reported
     * then, and the error forgotten. */
    void (*fail_launch)(uint64_t n);
} hostcuda_counts;

/* Counts change when work is run: synchronise the device before reading them. */
const hostcuda_counts *hostcuda_counts_get(void);

#ifdef __cplusplus
}
#endif
#endif
