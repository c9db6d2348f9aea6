/* check.h: what the parts of the CHECK=1 build share; runtime/internal.h has the calls into it.
 *
 * A student's file is compiled with -fsanitize=thread but linked with hooks.c: each access to
 * memory calls a function here. The program runs its CUDA threads one after the other on one
 * worker, so every verdict is exact and repeats; nothing here needs a lock. */
#ifndef HOSTCUDA_CHECK_H
#define HOSTCUDA_CHECK_H

#include "../runtime/internal.h"

/* ---- who accessed: one word ----
 *
 *     interval 24 | thread 10 | clock 7 | strong | many | blocks | bytes 4 | site 16
 *
 * interval: a number that grows with each block and each __syncthreads(). So comparing two words as
 * numbers tells which came first, and `>= hc_check.block_first` that both belong to one block.
 * clock: __syncwarp()s that the lane has passed in this interval; CLOCK_WARPS: lanes of several
 * warps. strong: an atomic, or volatile in global memory. many: several threads read in this
 * interval. blocks: another block of this launch read too. bytes: which of the cell's four. */
enum { SITE_BITS = 16, CLOCK_MAX = 126, CLOCK_WARPS = 127, SITES_MAX = 1 << SITE_BITS };
#define SITE_MASK      ((uint64_t)0xffff)
#define BYTES_SHIFT    16
#define BYTES_MASK     ((uint64_t)0xf << BYTES_SHIFT)
#define BLOCKS_BIT     ((uint64_t)1 << 20)
#define MANY_BIT       ((uint64_t)1 << 21)
#define STRONG_BIT     ((uint64_t)1 << 22)
#define CLOCK_SHIFT    23
#define CLOCK_MASK     ((uint64_t)0x7f << CLOCK_SHIFT)
#define THREAD_SHIFT   30
#define WARP_MASK      ((uint64_t)0x1f << (THREAD_SHIFT + 5))
#define INTERVAL_SHIFT 40
#define INTERVAL_LAST  ((uint32_t)0xfffffe)

static inline int word_thread(uint64_t word) { return (int)(word >> THREAD_SHIFT & 1023); }
static inline unsigned word_clock(uint64_t word) { return (unsigned)(word >> CLOCK_SHIFT & 127); }
static inline uint32_t word_interval(uint64_t word) { return (uint32_t)(word >> INTERVAL_SHIFT); }

/* Shadow of four bytes: their last writer and their last reader. */
typedef struct hc_cell {
    uint64_t write, read;
} hc_cell;

typedef enum hc_region_kind { REGION_GLOBAL, REGION_SHARED, REGION_SYMBOL, REGIONS } hc_region_kind;

/* Memory with shadow. A bit of `ready` per byte: it lies in a buffer and was written. */
typedef struct hc_region {
    uintptr_t base;
    size_t bytes;
    hc_cell *cells;
    unsigned char *ready;
    uint64_t first; /* words below it are too old to conflict: of another launch (or block) */
} hc_region;

/* What an access is, for hooks and messages. */
enum { ACCESS_READ = 0, ACCESS_WRITE = 1, ACCESS_STRONG = 2, ACCESS_ATOMIC = 4, ACCESS_SILENT = 8 };

typedef struct hc_access {
    uintptr_t address, pc;
    unsigned bytes, kind;
    const hc_region *region;
} hc_access;

/* The state that every hook looks at. */
typedef struct hc_check_state {
    hc_region region[REGIONS];
    uint64_t me; /* interval, thread and clock of the running thread */
    uint64_t block_first, interval_first;
    uintptr_t stack;  /* low end of the stack that it runs on */
    uintptr_t unused; /* bytes from there on that no thread has used yet, on any stack */
    uintptr_t text;   /* code of this module, and the site of each of its addresses */
    size_t text_bytes;
    uint16_t *site_at;
    uint64_t *log, *log_end; /* of the running thread; equal when full or when nothing is counted */
    bool counting;
    bool races;   /* are named: HOSTCUDA_RACES=0 leaves values and counts alone */
    bool guarded; /* host code is a student's operation: host.c */
    bool queued;  /* work that nobody has waited for: unwaited.c */
    bool pending; /* a write whose value is to be compared, see race.c */
} hc_check_state;
extern hc_check_state hc_check __attribute__((visibility("hidden")));

/* ---- shadow.c ---- */
bool hc_check_elsewhere(const hc_access *a); /* memory without shadow: true if it may be accessed */
void hc_check_not_ready(const hc_access *a); /* returns if the bytes may be written */
void hc_check_fail_unwritten(const hc_access *a);
void hc_check_symbols(void); /* makes their region, once */
void hc_check_misaligned(const hc_access *a);
/* An index or a pointer leads out of a variable; of an index the array's type, as 'float [64]'. */
void hc_check_beyond(hc_site at, const char *type, long index);
void hc_check_forget_accesses(void);
void hc_check_shared_fresh(void); /* a block begins */
/* Its ready bits: copied out (into NULL: only counted) and back; how many bytes that takes. */
size_t hc_check_shared_save(unsigned char *to);
size_t hc_check_shared_restore(const unsigned char *from);

/* ---- host.c: may host code touch [p, p + n)? Returns if so; does not return if not. Its own
 * frames begin at `frames`: below are those of who asks, with what they return to. ---- */
void hc_check_host(uintptr_t p, size_t n, unsigned kind, uintptr_t pc, uintptr_t frames);

/* ---- unwaited.c: host code touches [p, p + n) while work is queued ---- */
void hc_check_unwaited_access(uintptr_t p, size_t n, unsigned kind, uintptr_t pc);

/* ---- calls.c: a function is entered, which is to return to `back`, and left ---- */
void hc_check_enters(uintptr_t back, uintptr_t frame, uintptr_t pc);
void hc_check_leaves(void);
uintptr_t hc_check_frame(void);      /* of the student's function that the host is in */
void hc_check_way_begins(void); /* of a thread that starts */

/* ---- order.c: does something order the access of this word before those of the running thread? */
bool hc_check_ordered_in_warp(uint64_t old);
bool hc_check_ordered_by_place(uint64_t old);       /* in this block and interval */
bool hc_check_ordered_between_blocks(uint64_t old); /* of another block of this launch */
uint32_t hc_check_block_of(uint32_t number);        /* which block of this launch, as they ran */
void hc_check_fence(void);
void hc_check_sync_access(uintptr_t place, bool releases);

/* ---- race.c ---- */
void hc_check_read(const hc_access *a, hc_cell *cell, uint64_t word);
void hc_check_write(const hc_access *a, hc_cell *cell, uint64_t word);
void hc_check_compare(void);             /* a pending write */
void hc_check_early(const hc_access *a); /* read of what nothing has written yet */
void hc_check_tell_early(void);          /* if there was one: nobody wrote it in time */
void hc_check_compares(const hc_region *r, size_t at); /* an atomicCAS comes */
void hc_check_forget_pending(void);

/* ---- sites.c ---- */
unsigned hc_check_new_site(uintptr_t pc, unsigned bytes, unsigned kind);
/* One instruction that accesses memory, and what profile.c counted at it. */
typedef struct hc_check_site {
    uintptr_t pc;
    unsigned bytes, kind;
    char *file; /* NULL until asked for, "" if unknown */
    int line;
    bool is_compared;                      /* begins a CAS loop, see race.c */
    const struct hc_kernel_counts *kernel; /* the first that ran it */
    uint64_t threads;                      /* accesses, each thread's by itself */
    uint64_t requests, partial;            /* of warps; without all of the warp's lanes */
    uint64_t global_requests, sectors;     /* 32-byte sectors */
    uint64_t shared_requests, conflicts;   /* cycles beyond one a request */
} hc_check_site;
hc_check_site *hc_check_sites(unsigned *count);         /* the first is not used */
void hc_check_find_lines(unsigned first, unsigned end); /* asks addr2line for sites [first, end) */
bool hc_check_is_constant(uintptr_t p);                 /* in read-only memory of this module */

/* ---- profile.c: a thread's log since the last barrier ---- */

/* An entry: site, region and offset of an access; or a step of the thread's way, LOG_STEP for a
 * region and one of these for an offset: into a basic block, into and out of a function. */
enum { LOG_STEP = REGIONS };
typedef enum hc_log_step { STEP_BLOCK, STEP_ENTERS, STEP_LEAVES } hc_log_step;
static inline uint64_t hc_log_entry(unsigned site, unsigned region, uintptr_t at) {
    return (uint64_t)site << 48 | (uint64_t)region << 46 | at;
}
static inline unsigned hc_log_site(uint64_t entry) { return (unsigned)(entry >> 48); }
static inline unsigned hc_log_region(uint64_t entry) { return (unsigned)(entry >> 46 & 3); }
static inline uint64_t hc_log_offset(uint64_t entry) { return entry << 18 >> 18; }
static inline bool hc_log_is_step(uint64_t entry) { return hc_log_region(entry) == LOG_STEP; }
/* Site and region: equal for the accesses of one instruction. */
static inline uint64_t hc_log_place(uint64_t entry) { return entry >> 46; }

void hc_check_log_beyond(unsigned site, unsigned region, uint64_t at); /* its log has no room */
void hc_check_log_switch(hc_worker *w);
void hc_check_log_arrives(hc_worker *w, bool ends);
void hc_check_log_block(hc_worker *w);
size_t hc_check_log_save(const hc_worker *w, unsigned char *to); /* of a block that parks */
void hc_check_log_restore(hc_worker *w, const unsigned char *from);

/* What lanes of a warp access at one instruction together. */
typedef struct hc_request {
    int lanes;
    uint64_t at[WARP]; /* offsets in their region */
    int lane[WARP];
} hc_request;
void hc_check_request(unsigned site, unsigned region, const hc_request *r);

/* ---- lockstep.c ---- */
typedef struct hc_lane {
    const uint64_t *at, *end; /* what is left of its log */
    int number;               /* in the warp */
} hc_lane;
/* Calls hc_check_request for each request that the logs of a warp's lanes make together. */
void hc_check_lockstep(hc_lane *lanes, int count);

/* ---- message.c ---- */
void hc_check_message_begin(hc_text *t, const char *kind, uintptr_t pc);
void hc_check_message_where(hc_text *t, const hc_access *a);

#endif
