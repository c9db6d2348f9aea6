/* internal.h: what the parts of the runtime share.
 *
 * From bottom to top: options, report, arena (device memory), fiber (stacks and switch), block (the
 * threads of one block), warp, grid (blocks over workers), queue (streams), then the API's files.
 * One lock, hc_lock, guards everything that is not a worker's own. */
#ifndef HOSTCUDA_INTERNAL_H
#define HOSTCUDA_INTERNAL_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "hostcuda/counts.h"
#include "hostcuda/api.h"

enum {
    WARP = 32,
    THREADS_MAX = 1024,
    WARPS_MAX = THREADS_MAX / WARP,
    WORKERS_MAX = 64,
    SHARED_STATIC_MAX = 48 * 1024, /* what a kernel gets without asking */
    SHARED_MAX = 99 * 1024,        /* what cudaFuncSetAttribute may ask for */
    SHARED_GAP = 32                /* canary bytes between two __shared__ arrays */
};

/* ---- options.c ---- */
typedef struct hc_options {
    uint64_t seed;
    int workers;
    bool eager;      /* run each operation when it is queued: for gdb */
    bool checks;     /* what costs time: closed memory, fresh bytes, canaries */
    bool races;      /* CHECK=1: races and reads of unwritten memory are named */
    bool leaks;      /* what is never freed is named at the end */
    bool exited;     /* a barrier waits for no thread that has returned, as from sm_70 on */
    double timeout;  /* seconds that a thread may run without progress; 0: for ever */
    size_t memory;   /* bytes of device memory */
    const char *log; /* file that gets one line per report */
} hc_options;
const hc_options *hc_options_get(void);
uint64_t hc_mix(uint64_t x); /* a bijection that looks random */

/* ---- report.c ---- */
typedef struct hc_buffer hc_buffer;
typedef enum hc_end { HC_GOES_ON, HC_ENDS_KERNEL } hc_end;
typedef struct hc_text {
    char text[4000];
    size_t used;
} hc_text;
void hc_add(hc_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hc_report_begin(hc_text *t, const char *kind, const char *file, int line);
void hc_report_thread(hc_text *t); /* kernel, block and thread of the caller, if in a kernel */
void hc_report_likely(hc_text *t, const char *mistake);
void hc_report_end(hc_text *t);
const char *hc_report_shorten(const char *file); /* a path below the working directory */
/* ": x[1000] of 1000", for the byte at this offset of an array; nothing if `element` is 0. A `row`
 * longer than an element makes it x[5][1000]. The name is the first `name_length` characters. */
void hc_add_element(hc_text *t, const char *name, int name_length, size_t element, size_t row,
                    long offset, size_t bytes);
void hc_add_buffer_element(hc_text *t, const hc_buffer *b, long offset);
/* A whole report outside of kernels. */
void hc_complain(const char *kind, const char *file, int line, const char *likely,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* ---- symbolize.c ---- */
typedef struct hc_source {
    char function[200], file[400];
    int line;
    bool vague; /* the compiler gave the place no line, so it is that of the function's caller */
} hc_source;
/* Source of the innermost frame that lies in a student's file; pcs[0] is the faulting instruction.
 */
bool hc_source_of(void *const *pcs, int count, hc_source *source);
bool hc_source_is_students(const char *function, const char *file);
/* What addr2line answers to these arguments, the first of which is its name, and to what lies in
 * the file `questions` (-1: none); NULL if it cannot be started. The caller closes the answer and
 * then waits for the child. */
FILE *hc_addr2line(char **arguments, int questions, pid_t *child);

/* ---- arena.c: device memory ---- */
typedef enum hc_space { HC_HOST, HC_DEVICE, HC_MANAGED, HC_PINNED, HC_SYMBOL, HC_GUARD } hc_space;
struct hc_buffer {
    char *start, *pages; /* the data; the pages that hold it */
    size_t bytes, page_bytes;
    bool freed, heap; /* heap: a kernel allocated it */
    hc_space space;
    const char *named; /* the arguments of its allocation as they were written, or NULL */
    size_t element;    /* bytes; 0: unknown */
    hc_site allocated, released;
    char *whole; /* confined to an array (check/confine.c): the allocation, else NULL */
    size_t whole_bytes;
};
cudaError_t hc_arena_allocate(hc_space space, size_t bytes, hc_site at, void **p);
void hc_arena_release(hc_buffer *b, hc_site at);
hc_buffer *hc_arena_find(const void *p);    /* the buffer or freed buffer at p, guards included */
hc_buffer *hc_arena_nearest(const void *p); /* the buffer whose edge is nearest to p */
bool hc_arena_holds(const void *p);
void hc_arena_open(void); /* nests */
void hc_arena_close(void);
void hc_arena_protect(bool closed); /* whatever the nesting: for the watchdog */
void hc_arena_open_one(const hc_buffer *b);
void hc_arena_close_one(const hc_buffer *b);
bool hc_arena_is_open(void);
hc_space hc_space_of(const void *p, hc_buffer **b);
size_t hc_symbol_room(const void *p); /* bytes from p to the end of the device's variables */
hc_buffer *hc_arena_buffers(int *count);

/* ---- heap.c: what kernels allocate ---- */
void hc_heap_lock(void);
void hc_heap_unlock(void);
void hc_heap_set_limit(size_t bytes);
size_t hc_heap_limit(void);
void hc_heap_released(const hc_buffer *b);

/* ---- canary.c ---- */
void hc_fill_edges(const hc_buffer *b);
void hc_check_canaries(hc_buffer *b, const char *when);
void hc_check_all_canaries(const char *when);
size_t hc_arena_live(size_t *buffers);
void hc_report_leaks(void);
void hc_arena_release_all(hc_site at);

/* ---- fiber.c ---- */
typedef struct hc_stack {
    char *low; /* its guard page lies below */
    void *entry;
} hc_stack;
typedef struct hc_stacks {
    hc_stack *all;
    int count, room;
    int *idle, idle_count;
} hc_stacks;
int hc_stack_take(hc_stacks *s);
void hc_stack_give(hc_stacks *s, int stack);
bool hc_stack_guard_hit(const hc_stacks *s, const void *address);
void hc_stacks_reset(hc_stacks *s);
enum { STACK_BYTES = 128 * 1024 };

/* ---- block.c, warp.c ---- */
/* One cache line; a barrier touches its first 24 bytes. */
typedef struct hc_thread {
    void *context; /* stack pointer (or ucontext) while suspended */
    int stack;
    uint3 index;
    hc_warp_kind kind; /* what it waits for in a warp operation, and with what */
    unsigned mask;
    int lane, width;
    uint64_t value;
    hc_site site; /* the warp operation it waits in */
} hc_thread;

typedef struct hc_warp_state {
    unsigned waiting, exited, exists;
} hc_warp_state;

typedef struct hc_worker {
    int index;
    pthread_t handle;
    hc_launch *launch;
    hc_stacks stacks;
    _Alignas(64) hc_thread threads[THREADS_MAX];
    hc_warp_state warps[WARPS_MAX];
    int count, started, exited; /* threads of the block */
    int flip, turn;             /* order in which they start */
    int current;                /* thread that runs */
    int current_stack;
    uint32_t x_inverse, y_inverse; /* 2^20 / blockDim: division by multiplication, exact to 1023 */
    uint16_t queues[2][THREADS_MAX];
    uint16_t *ready, *waiting; /* one of the two each; a released barrier swaps them */
    int ready_first, ready_count;
    int waiting_count;                     /* at the block's barrier */
    uint32_t at_counter[THREADS_MAX / 32]; /* who waits at a counter: its thread's `value` */
    hc_site barrier;                       /* the one that they wait at */
    hc_barrier_kind barrier_kind;
    bool at_grid; /* all wait at a barrier of the whole grid: whole.c */
    int barrier_sum, barrier_result;
    const volatile void *touched; /* last atomic without effect, and how often in a row */
    uint64_t touches;
    uint64_t progress; /* changes whenever a thread ends or waits; the watchdog looks at it */
    volatile sig_atomic_t in_kernel;
    volatile sig_atomic_t probe; /* watchdog.c */
    const void *polled;
    void *main_context;
    sigjmp_buf escape; /* back to hc_block_run when a thread fails */
    cudaError_t failure;
    char *shared; /* arena; its end is followed by a guard page */
    size_t shared_used;
    uint64_t blocks_done;
} hc_worker;

extern __thread hc_worker *hc_self;

void hc_block_run(hc_worker *w, hc_launch *launch, uint64_t block);
void hc_block_release(hc_worker *w); /* those that wait at its barrier go on */
void hc_block_go(hc_worker *w, uint64_t block);
void hc_block_place(const hc_launch *launch, uint64_t block); /* sets blockIdx */
void hc_thread_wait(hc_worker *w); /* suspends the current thread; somebody has noted it */
void hc_make_ready(hc_worker *w, int thread);
void hc_kernel_fail(cudaError_t error) __attribute__((noreturn));
void hc_switch_position(hc_worker *w, int thread);
bool hc_warp_resolve_active(hc_worker *w);
void hc_warp_lane_exits(hc_worker *w, int thread);
void hc_report_stuck(hc_worker *w);

/* ---- counter.c ---- */
void hc_counter_report_stuck(hc_worker *w); /* returns if nobody waits at one */

/* ---- whole.c: blocks that wait for the grid ---- */
enum { WHOLE_MAX = 16 * THREADS_MAX }; /* threads; the system allows so many guard pages */
void hc_whole_park(hc_worker *w, uint64_t block);
void hc_whole_run(hc_worker *w, hc_launch *launch); /* the parked blocks, until they have ended */
void hc_whole_drop(void);

/* ---- shared.c ---- */
void hc_shared_prepare(hc_worker *w, hc_launch *launch, uint64_t number);
void hc_shared_fill(hc_worker *w);
void *hc_shared_save(const hc_worker *w);                /* a copy, which the caller frees, ... */
void hc_shared_restore(hc_worker *w, const void *saved); /* ... goes back */
bool hc_shared_check(hc_worker *w);
bool hc_shared_guard_hit(const hc_worker *w, const void *address);
cudaError_t hc_shared_limit(const hc_launch *launch);
#define HC_DYNAMIC_NAME "(dynamic)"
typedef struct hc_shared_array {
    size_t start, end; /* of the data, offsets in the arena */
    const char *name;  /* NULL: the block has no shared memory */
    unsigned element, row;
} hc_shared_array;
/* The array at this offset; false, and the nearest array before it, if there is none. */
bool hc_shared_array_at(size_t offset, hc_shared_array *array);
/* A block's shared memory is [0, static_end) and the arena from dynamic_start on. */
void hc_shared_extent(size_t *static_end, size_t *dynamic_start);

/* ---- grid.c, watchdog.c, fault.c ---- */
cudaError_t hc_grid_run(hc_launch *launch);
hc_worker *hc_workers(int *count);
uint64_t hc_grid_left(void); /* blocks of the running grid that have not started */
void hc_watchdog_start(void);
bool hc_watchdog_probe(hc_worker *w, const void *address, bool write);
void hc_watchdog_signal(void *pc);
enum { HC_WATCHDOG_SIGNAL = SIGURG };
void hc_fault_install(void);
void hc_fault_thread(void); /* gives the calling thread a signal stack */
/* Begins the report of an access to device memory at `p` where no buffer is. */
void hc_fault_device(hc_text *t, const char *p, const char *verb, void *pc);

/* ---- counts.c ---- */
typedef struct hc_kernel_counts {
    struct hc_kernel_counts *next; /* in the order of their first launch */
    const void *entry;
    hostcuda_kernel_counts counts;
} hc_kernel_counts;
hc_kernel_counts *hc_counts_of(const hc_launch *launch);
hc_kernel_counts *hc_counts_first(void);
void hc_counts_launch(const hc_launch *launch);
void hc_counts_call(void);           /* of a library: on a GPU it launches a kernel of its own */
cudaError_t hc_counts_failure(void); /* of the launch or call just asked for, if it is to fail */

/* ---- error.c ---- */
cudaError_t hc_fail(cudaError_t error); /* remembers it for cudaGetLastError */
void hc_fail_sticky(cudaError_t error, hc_site at);
cudaError_t hc_sticky(void);
void hc_report_unchecked(void);
void hc_forget_errors(void);
void hc_note_unchecked(hc_site at, const char *what);

/* ---- queue.c, stream.c, graph.c ---- */
typedef struct hc_op hc_op;
struct hc_op {
    hc_op *next;
    uint64_t number; /* order over all streams */
    const char *name;
    hc_site site;
    cudaError_t (*run)(hc_op *op);
    void (*drop)(hc_op *op); /* frees what the operation owns; NULL if nothing */
    /* An operation in a stream owns its payload; one in a graph is run many times. */
    union {
        hc_launch launch;
        struct {
            char *to;
            const char *from;
            size_t to_pitch, from_pitch, width, height;
            void *staged;
            bool to_local; /* a variable that is gone when its function has returned */
        } copy;
        struct {
            char *p;
            int value;
            size_t bytes, element; /* value fills so many bytes: 1, 2 or 4 */
        } set;
        struct {
            cudaEvent_t event;
            uint64_t version;
        } event;
        struct {
            void (*function)(void *);
            void *data;
        } host;
        struct hc_plan *plan;
    } u;
};

/* ---- plan.c, node.c: what a graph does ---- */
typedef struct CUgraphNode_st hc_node;
struct CUgraphNode_st {
    hc_op *first, *last; /* what it does, in this order */
    size_t *after;       /* places of nodes in the plan, each before its own */
    size_t after_count;
    int owners;
};
typedef struct hc_plan {
    hc_node **nodes, **handles; /* a node, and the one that the program has a handle of */
    size_t count;
    int owners;
    bool chain; /* each node is after the one before it, and after no other */
} hc_plan;
hc_node *hc_node_new(void);
void hc_node_append(hc_node *node, hc_op *op);
void hc_node_after(hc_node *node, const size_t *places, size_t count);
void hc_node_give_up(hc_node *node);
hc_plan *hc_plan_new(void);
hc_plan *hc_plan_copy(const hc_plan *plan);
void hc_plan_append(hc_plan *plan, hc_node *node, hc_node *handle);
void hc_plan_give_up(hc_plan *plan);
size_t hc_plan_find(const hc_plan *plan, const hc_node *handle); /* its count: not there */
bool hc_plan_same_form(const hc_plan *a, const hc_plan *b);
hc_op *hc_plan_op(hc_plan *plan, const char *name, const char *file, int line);
bool hc_node_takes(hc_op *op); /* false: no node is being made */
bool hc_node_is_made(void);
hc_plan *hc_graph_plan(cudaGraph_t graph);
hc_plan *hc_exec_plan(cudaGraphExec_t exec);
bool hc_exec_has_nodes(cudaGraphExec_t exec); /* its graph is not destroyed */
void hc_exec_replace(cudaGraphExec_t exec, size_t place, hc_node *node);

struct CUstream_st {
    struct CUstream_st *next;
    hc_op *first, *last;
    bool blocking; /* ordered with the default stream */
    cudaGraph_t capture;
    hc_site created;
};

extern struct CUstream_st hc_default_stream;
struct CUstream_st *hc_resolve(cudaStream_t stream); /* 0, 1 and 2 are the default stream */

extern pthread_mutex_t hc_lock;
void hc_enter(void); /* takes the lock, sets the runtime up on first use */
void hc_leave(void);
hc_op *hc_op_new(const char *name, cudaError_t (*run)(hc_op *), const char *file, int line);
void hc_op_free(hc_op *op);
cudaError_t hc_queue(cudaStream_t stream, hc_op *op);
void hc_queue_only(const void *stream); /* work in another one is reported; NULL: any will do */
cudaError_t hc_drain(cudaStream_t stream);
cudaError_t hc_drain_all(void);
cudaError_t hc_run_until(cudaStream_t stream, uint64_t number);
bool hc_stream_valid(cudaStream_t stream);
bool hc_capturing(void);
size_t hc_pending(hc_op **first);
void hc_streams_drop(void);
cudaGraph_t hc_stream_capture(cudaStream_t stream);
uint64_t hc_next_number(void);
bool hc_stream_is_default(cudaStream_t stream);
void hc_capture_set(cudaStream_t stream,
                    cudaGraph_t graph); /* NULL: the stream leaves its capture */
void hc_capture_end(cudaGraph_t graph);
void hc_graph_invalidate(cudaGraph_t graph); /* its capture has failed */
void hc_graphs_invalidate(void);             /* and so have all that go on */
void hc_graph_append(cudaGraph_t graph, hc_op *op);

/* Work of a library such as cuBLAS in stream order: `payload` is copied. */
cudaError_t hc_queue_call(cudaStream_t stream, const char *name, cudaError_t (*run)(void *payload),
                          const void *payload, size_t bytes, const char *file, int line);
cudaError_t hc_finish(cudaStream_t stream);
/* A memset whose value is an element of 1, 2 or 4 bytes. */
cudaError_t hc_set(void *p, int value, size_t element, size_t bytes, cudaStream_t stream,
                   hc_site at);
/* Checks that [p, p + bytes) is device memory; reports and returns an error if not. */
cudaError_t hc_check_device(const void *p, size_t bytes, const char *what, const char *file,
                            int line);

/* ---- texture.c ---- */
size_t hc_array_element(cudaArray_const_t array); /* bytes; 0 of no array */
/* Where this part of an array begins (x and width in bytes), and its strides; NULL, and a report,
 * if it is none. */
char *hc_array_place(cudaArray_const_t array, struct cudaPos from, struct cudaExtent part,
                     size_t *row, size_t *slice, hc_site at);

/* ---- check/: what the CHECK=1 build learns of memory ---- */
#ifdef HOSTCUDA_CHECK
void hc_check_arena(const char *base, size_t bytes);
void hc_check_shared_arena(const char *base);
void hc_check_allocated(const hc_buffer *b);
void hc_check_freed(const hc_buffer *b);
void hc_check_written(const void *p, size_t bytes); /* by a memset or a library */
void hc_check_unwritten(const void *p, size_t bytes);
void hc_check_copied(const void *to, const void *from, size_t bytes);
void hc_check_set(const void *p, size_t bytes); /* by a memset */
/* A copy to the host, and nothing has written a byte of it. */
bool hc_check_brings_nothing(const void *to, const void *from, size_t pitch, size_t width,
                             size_t height);
void hc_check_launch_begins(void);
void hc_check_launch_ends(const hc_launch *launch);
void hc_check_block_begins(hc_worker *w);
void hc_check_block_ends(void);
void *hc_check_block_parks(hc_worker *w); /* what is kept of it until it goes on */
void hc_check_block_goes_on(hc_worker *w, void *kept);
void hc_check_grid_barrier(void);
void hc_check_thread_runs(hc_worker *w); /* w->current, on w->current_stack */
void hc_check_thread_arrives(hc_worker *w, bool ends);
void hc_check_barrier(hc_worker *w); /* all threads of the block have come */
void hc_check_syncwarp(hc_worker *w, int warp, unsigned mask);
void hc_check_meets(const void *at, bool may_release); /* what is there orders memory */
void hc_check_count(bool on);
int hc_check_site_counts(hostcuda_site_counts *out, int room);
bool hc_check_confine(const hostcuda_array *arrays, int count);
/* work.c: who does the work */
bool hc_check_watch(const hostcuda_array *arrays, int count);
void hc_check_worked(hostcuda_work *work);
void hc_check_work_set(const void *p, size_t bytes);
void hc_check_work_library(const void *p, size_t bytes); /* which writes all of it */
void hc_check_work_copied(const void *to, const void *from, size_t bytes);
void hc_check_work_to_host(size_t bytes);
/* host.c: what host code may touch */
void hc_check_guard(const void *frame);
void hc_check_host_call(const void *p, size_t bytes, bool writes, hc_site at); /* or not return */
bool hc_check_guarded_stack(const void *p); /* a local variable of guarded code */
bool hc_check_guarded_still(const void *p); /* its function has not returned */
void hc_check_thread_starts(void);
/* unwaited.c: reads of host code while anything is queued; an operation begins and ends */
void hc_check_unwaited_queued(bool any);
void hc_check_unwaited_begins(void);
void hc_check_unwaited_ends(const hc_op *op);
void hc_check_unwaited_forget(void);
#else
#define hc_check_arena(base, bytes)      ((void)0)
#define hc_check_shared_arena(base)      ((void)0)
#define hc_check_allocated(b)            ((void)0)
#define hc_check_freed(b)                ((void)0)
#define hc_check_written(p, bytes)       ((void)0)
#define hc_check_copied(to, from, bytes) ((void)0)
#define hc_check_set(p, bytes)           ((void)0)
#define hc_check_brings_nothing(...)     false
#define hc_check_launch_begins()         ((void)0)
#define hc_check_launch_ends(launch)     ((void)0)
#define hc_check_block_begins(w)         ((void)0)
#define hc_check_block_ends()            ((void)0)
#define hc_check_block_parks(w)          NULL
#define hc_check_block_goes_on(w, kept)  ((void)(kept))
#define hc_check_grid_barrier()          ((void)0)
#define hc_check_thread_runs(w)          ((void)0)
#define hc_check_thread_arrives(w, ends) ((void)0)
#define hc_check_barrier(w)              ((void)0)
#define hc_check_syncwarp(w, warp, mask) ((void)0)
#define hc_check_meets(at, may_release)  ((void)0)
#define hc_check_work_library(p, bytes)  ((void)0)
#define hc_check_host_call(...)          ((void)0)
#define hc_check_guarded_stack(p)        false
#define hc_check_guarded_still(p)        true
#define hc_check_thread_starts()         ((void)0)
#define hc_check_unwaited_queued(any)    ((void)(any))
#define hc_check_unwaited_begins()       ((void)0)
#define hc_check_unwaited_ends(op)       ((void)(op))
#define hc_check_unwaited_forget()       ((void)0)
#endif

#endif
