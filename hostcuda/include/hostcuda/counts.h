/* counts.h: what the kernels of a program did, for a program: an autograder, a test, a benchmark;
 * and what its host code does where a launch fails.
 *
 * The ordinary build counts launches; CHECK=1 also counts memory, once count_memory(true) was
 * called or HOSTCUDA_PROFILE is set. All numbers are exact and repeat; README.md says what each
 * means. The function is hidden, as all of hostcuda: a plug-in hands it out by a way of its own. */
#ifndef HOSTCUDA_COUNTS_H
#define HOSTCUDA_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOSTCUDA_COUNTS_ABI = 8 };

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

/* What one instruction of a kernel has cost since the program began; CHECK=1 alone knows. */
typedef struct hostcuda_site_counts {
    uint64_t offset; /* in the plug-in's file, as addr2line takes it */
    uint64_t sectors, shared_requests, conflicts;
} hostcuda_site_counts;

/* An array in device memory, and who worked on those that are watched. CHECK=1 alone knows. */
typedef struct hostcuda_array {
    const void *start;
    size_t bytes;
    bool output; /* else an input */
} hostcuda_array;
typedef struct hostcuda_launch {
    const char *kernel; /* as written at the launch; lives as long as the plug-in; NULL: none */
    uint32_t grid[3], block[3];
} hostcuda_launch;
typedef struct hostcuda_work {
    uint64_t storers; /* threads whose values stand in an output; of a library's, one for a word */
    uint64_t loaders; /* threads that were the last to load a word of an input */
    uint64_t carried; /* words of outputs that a copy brought */
    uint64_t to_host; /* bytes that the host was given of device memory, in any way */
    hostcuda_launch storing; /* the launch that stored most words of outputs (the last such) ... */
    hostcuda_launch loading; /* ... and the one that loaded most of inputs */
} hostcuda_work;

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
    /* From here to worked() these arrays are watched; false: this is not a CHECK=1 build. Both run
     * first what is queued. */
    bool (*watch)(const hostcuda_array *arrays, int count);
    void (*worked)(hostcuda_work *work);
    /* From here on code that was compiled with hooks, and the runtime in its name, may on the host
     * write to its own variables and to the stack below `frame` alone; what else it may read stands
     * in check/host.c. NULL: no more. Anything else is reported and ends the program. */
    void (*guard)(const void *frame);
    /* How many instructions have accessed memory; fills up to room. One keeps its place. reset()
     * leaves them alone: who asks twice subtracts. */
    int (*sites)(hostcuda_site_counts *out, int room);
    /* From here on each of these arrays is all that there is of its allocation (one array each): to
     * touch what lies beside it is out-of-bounds. Runs first what is queued. NULL, 0: allocations
     * are whole again, and what lay beside the arrays counts as written. False: this is not a
     * CHECK=1 build, or an array does not lie in an allocation of its own. */
    bool (*confine)(const hostcuda_array *arrays, int count);
    /* From here on work (launches, copies, memsets, calls of cuBLAS) that is queued in another
     * stream than this one is reported; it runs all the same. NULL: any stream will do again. */
    void (*keep_stream)(const void *stream);
} hostcuda_counts;

/* Counts change when work is run: synchronise the device before reading them. */
const hostcuda_counts *hostcuda_counts_get(void);

#ifdef __cplusplus
}
#endif
#endif
