/* hostcuda/abi.h: what a rewritten file and the runtime know of each other, in C.
 *
 * Every function that a student may call wrongly takes the file and line of the call, so that a
 * message can point there. The names start with hc_; macros give them CUDA's names (api.h). */
#ifndef HOSTCUDA_ABI_H
#define HOSTCUDA_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostcuda/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uint3 {
    unsigned x, y, z;
} uint3;

/* Where the running CUDA thread stands. One of each per worker; a switch of fibers rewrites
 * threadIdx. A kernel sees them as constants (kernel.h): while it runs, they are. */
#define HC_BUILT_IN(type, name) extern __thread type name __asm__("hc_" #name)
#ifndef __cplusplus
HC_BUILT_IN(uint3, threadIdx);
HC_BUILT_IN(uint3, blockIdx);
HC_BUILT_IN(uint3, blockDim);
HC_BUILT_IN(uint3, gridDim);
#endif

typedef struct hc_site {
    const char *file;
    int line;
} hc_site;

/* ---- launches ---- */

typedef struct CUstream_st *hc_stream;

enum { HC_POINTERS_MAX = 32 };

typedef struct hc_launch {
    const char *kernel; /* as written at the launch */
    hc_site site;
    const void *entry; /* address of the kernel, NULL for a null function pointer */
    bool deduced;      /* its template arguments are: entry is only an address of its own */
    bool cooperative;  /* its blocks may wait for each other */
    uint3 grid, block;
    size_t dynamic_shared;
    hc_stream stream;
    void (*run)(void *arguments); /* runs the kernel once, for the thread threadIdx */
    void *arguments;              /* copied by hc_launch_kernel */
    size_t argument_bytes;
    const void *pointers[HC_POINTERS_MAX]; /* the arguments that are pointers to data, ... */
    int positions[HC_POINTERS_MAX];        /* ... and which argument each is, from 1 */
    int pointer_count;
} hc_launch;

cudaError_t hc_launch_kernel(const hc_launch *launch);

/* A program that makes a void * of a kernel notes how it is launched: by one pointer to each
 * argument. So it can be launched by that address. */
typedef cudaError_t (*hc_launch_array)(const hc_launch *launch, void **arguments);
void hc_note_kernel(const void *entry, const char *name, hc_launch_array launch);
cudaError_t hc_launch_noted(hc_launch *launch, const void *entry, void **arguments);

/* The buffer that was just allocated at p holds elements of so many bytes (0: nobody knows), and
 * this is the text of the call's arguments: messages speak of x[7]. Both outlive it. */
void hc_name_buffer(const void *p, size_t element, const char *arguments);

/* ---- within a kernel ---- */

/* A __shared__ variable: its place in the block's arena, given anew in each launch. */
typedef struct hc_shared_site {
    uint64_t place;        /* launch number << 24 | offset */
    unsigned element, row; /* bytes of an element, and of what [0] names: for messages */
} hc_shared_site;

extern __thread char *hc_shared_base;      /* this worker's arena */
extern __thread uint64_t hc_shared_launch; /* number of the running launch << 24 */

void *hc_shared_place(hc_shared_site *site, size_t bytes, size_t align, const char *name);
void *hc_shared_find(hc_shared_site *site, size_t bytes, size_t align, const char *name);
void *hc_dynamic_shared(void);
void hc_check_static(const void *variable, size_t bytes); /* of a kernel; CHECK=1 alone */

static inline void *hc_shared(hc_shared_site *site, size_t bytes, size_t align, const char *name) {
#ifdef HOSTCUDA_CHECK
    return hc_shared_find(site, bytes, align, name); /* its own accesses must not be checked */
#endif
    uint64_t place = __atomic_load_n(&site->place, __ATOMIC_RELAXED);
    if (__builtin_expect((place ^ hc_shared_launch) >> 24 == 0, 1))
        return hc_shared_base + (place & 0xffffff);
    return hc_shared_place(site, bytes, align, name);
}

typedef enum hc_barrier_kind { HC_PLAIN, HC_COUNT, HC_AND, HC_OR, HC_GRID } hc_barrier_kind;

/* A plain barrier's first half: the thread has come to it. Where another one is to run now, the
 * caller switches to that (hostcuda/switch.h); NULL: nothing is left to do. */
typedef struct hc_turn {
    void **from, *to;
} hc_turn;
hc_turn hc_arrive(const char *file, int line);
int hc_barrier(hc_barrier_kind kind, int predicate, const char *file, int line);
void hc_grid_barrier(const char *file, int line); /* of all blocks of a cooperative launch */
bool hc_grid_cooperative(void);

typedef enum hc_warp_kind {
    HC_SYNCWARP,
    HC_SHFL,
    HC_SHFL_UP,
    HC_SHFL_DOWN,
    HC_SHFL_XOR,
    HC_BALLOT,
    HC_MATCH_ANY,
    HC_ACTIVEMASK,
    HC_MMA /* value: the lane's hc_mma, or NULL: the lanes meet, and no memory is ordered */
} hc_warp_kind;

/* Exchanges `value` among the lanes of `mask`; `lane` and `width` as in the shuffles. */
uint64_t hc_warp(hc_warp_kind kind, unsigned mask, uint64_t value, int lane, int width,
                 const char *file, int line);

/* D = A B + C of a warp, m x k, k x n and m x n. Each lane holds a part of each matrix; the tables
 * say where an element lies, row by row: 32 * its place in the lane's array + the lane. */
typedef struct hc_mma {
    int m, n, k;
    const uint16_t *at_a, *at_b, *at_c;
    const double *a, *b, *c;
    double *d;
} hc_mma;
enum { HC_MMA_MOST = 512 }; /* elements of a matrix */
void hc_warp_aligned(const void *p, size_t row_bytes, const char *file, int line);

/* A barrier in shared memory that counts arrivals (cuda::barrier). Its init writes `made`. */
enum { HC_MADE = 0x62617272 };
typedef struct hc_counter {
    unsigned made, expected, missing, phase;
} hc_counter;
/* Counts n arrivals of one thread, which leaves for good if it `drops`; returns the phase. */
unsigned hc_counter_arrive(hc_counter *c, unsigned n, bool drops, const char *file, int line);
void hc_counter_wait(hc_counter *c, unsigned phase, const char *file, int line); /* for its end */
void hc_counter_unmade(const char *file, int line) __attribute__((noreturn));

/* Every atomic passes here: a thread that repeats one without effect is waiting for another. */
void hc_atomic_touch(const volatile void *address, bool changed);

/* malloc and free in a kernel (heap.h). */
void *hc_heap_allocate(size_t bytes, const char *file, int line);
void hc_heap_release(void *p, const char *file, int line);

void hc_assert_failed(const char *text, const char *file, int line, const char *function)
    __attribute__((noreturn));
void hc_trap(const char *file, int line) __attribute__((noreturn));
long long hc_clock(void);
void hc_rounding(int direction); /* of fenv.h, for what this thread computes from here on */

#ifdef __cplusplus
}
#endif
#endif
