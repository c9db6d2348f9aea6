/* hooks.c: the functions that -fsanitize=thread makes each memory access call. They stand in for
 * libtsan, which is not linked. Outside of kernels they do nothing, but where host code is guarded
 * (host.c).
 *
 * A hook is called before its access, so a refused access never happens. */
#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define HOOK        __attribute__((visibility("hidden")))
#define CALLER      ((uintptr_t)__builtin_return_address(0))
#define FRAMES      ((uintptr_t)__builtin_dwarf_cfa()) /* of the caller and above: not our own */
#define INLINE      static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

INLINE unsigned site_of(uintptr_t pc, unsigned n, unsigned kind) {
    uintptr_t at = pc - hc_check.text;
    unsigned site = at < hc_check.text_bytes ? hc_check.site_at[at] : 0;
    return UNLIKELY(site == 0) ? hc_check_new_site(pc, n, kind) : site;
}

/* The n bytes from offset `at` are all ready; n <= 16. */
INLINE bool all_ready(const hc_region *r, size_t at, unsigned n) {
    const unsigned char *bits = r->ready + at / 8;
    if (n == 16 && at % 8 == 0) {
        uint16_t both;
        memcpy(&both, bits, 2);
        return both == 0xffff;
    }
    uint32_t some;
    memcpy(&some, bits, 4); /* shadow is longer than what it shadows */
    uint32_t wanted = ((1u << n) - 1) << at % 8;
    return (some & wanted) == wanted;
}

/* Word `old` cannot conflict with `word`: of an earlier launch, or by the same thread in the same
 * interval, or before the block's last barrier. */
INLINE bool no_conflict(uint64_t old, uint64_t word, uint64_t first) {
    return old < first || (old ^ word) >> THREAD_SHIFT == 0 ||
           (old >= hc_check.block_first && old < hc_check.interval_first);
}

/* The usual reads, as add_reader in race.c would note them. */
INLINE void read_cell(const hc_access *a, hc_cell *c, uint64_t word) {
    uint64_t read = c->read, first = a->region->first, differ = read ^ word;
    if (UNLIKELY(!no_conflict(c->write, word, first))) {
        hc_check_read(a, c, word);
    } else if (read < first) {
        c->read = word;
    } else if (read < hc_check.interval_first) {
        bool other = read < hc_check.block_first || (read & BLOCKS_BIT);
        c->read = word | (other ? BLOCKS_BIT | (read & BYTES_MASK) : 0);
    } else if (read & MANY_BIT) { /* one of many more in the warp, or anybody's and so all's */
        uint64_t known = (read & CLOCK_MASK) == CLOCK_MASK
                             ? BYTES_MASK | STRONG_BIT
                             : BYTES_MASK | STRONG_BIT | CLOCK_MASK | WARP_MASK;
        if (UNLIKELY(differ & known)) hc_check_read(a, c, word);
    } else if (UNLIKELY(differ & ~(SITE_MASK | BLOCKS_BIT))) {
        hc_check_read(a, c, word);
    }
}

INLINE void write_cell(const hc_access *a, hc_cell *c, uint64_t word) {
    bool reads_clear =
        no_conflict(c->read, word, a->region->first) && !(c->read & (MANY_BIT | BLOCKS_BIT));
    if (UNLIKELY(!no_conflict(c->write, word, a->region->first) || !reads_clear)) {
        if (c->read >= a->region->first || c->write >= a->region->first) {
            hc_check_write(a, c, word);
            return;
        }
    }
    if ((c->write ^ word) >> THREAD_SHIFT == 0) word |= c->write & BYTES_MASK;
    c->write = word;
}

INLINE void one_cell(const hc_access *a, hc_cell *c, uint64_t word, unsigned kind) {
    if (kind & (ACCESS_WRITE | ACCESS_ATOMIC))
        write_cell(a, c, word);
    else
        read_cell(a, c, word);
}

INLINE void access(uintptr_t p, unsigned n, unsigned kind, uintptr_t pc) {
    if (!hc_self) {
        if (UNLIKELY(hc_check.guarded)) hc_check_host(p, n, kind, pc, FRAMES);
        if (UNLIKELY(hc_check.queued)) hc_check_unwaited_access(p, n, kind, pc);
        return;
    }
    hc_region *r = hc_check.region;
    uintptr_t at = p - r->base;
    if (at >= r->bytes) {
        if (p - hc_check.stack < STACK_BYTES) return;
        r = &hc_check.region[REGION_SHARED], at = p - r->base;
        if (at >= r->bytes) {
            r = &hc_check.region[REGION_SYMBOL], at = p - r->base;
            if (at >= r->bytes) {
                hc_access other = {p, pc, n, kind, NULL};
                hc_check_elsewhere(&other);
                return;
            }
        }
    }
    if (UNLIKELY(hc_check.pending)) hc_check_compare();
    /* Volatile is a promise between blocks, but none between lanes: only global memory has it. */
    if (r == &hc_check.region[REGION_SHARED] && !(kind & ACCESS_ATOMIC))
        kind &= ~(unsigned)ACCESS_STRONG;
    hc_access a = {p, pc, n, kind, r};
    if (UNLIKELY(!all_ready(r, at, n))) hc_check_not_ready(&a);
    unsigned site = site_of(pc, n, kind);
    uint64_t word = hc_check.me | site | (kind & ACCESS_STRONG ? STRONG_BIT : 0);
    hc_cell *c = r->cells + at / 4;
    unsigned in_cell = at % 4;
    if (n <= 4 && in_cell + n <= 4) {
        one_cell(&a, c, word | (uint64_t)((1u << n) - 1) << (BYTES_SHIFT + in_cell), kind);
    } else if (n == 8 && in_cell == 0) {
        one_cell(&a, c, word | BYTES_MASK, kind);
        one_cell(&a, c + 1, word | BYTES_MASK, kind);
    } else {
        for (unsigned i = 0; i < in_cell + n; i += 4, c++) {
            unsigned from = i == 0 ? in_cell : 0, to = in_cell + n - i < 4 ? in_cell + n - i : 4;
            unsigned bytes = (0xfu << from) & (0xfu >> (4 - to));
            one_cell(&a, c, word | (uint64_t)bytes << BYTES_SHIFT, kind);
        }
    }
    if (kind & ACCESS_SILENT) return;
    if (UNLIKELY(hc_check.log != hc_check.log_end))
        *hc_check.log++ = hc_log_entry(site, (unsigned)(r - hc_check.region), at);
    else if (UNLIKELY(hc_check.counting))
        hc_check_log_beyond(site, (unsigned)(r - hc_check.region), at);
}

/* A CPU would carry the access out; a GPU does not. (Of 16 bytes only their type says whether they
 * have to lie at 16.) */
INLINE void aligned(uintptr_t p, unsigned n, unsigned kind, uintptr_t pc) {
    if (n > 1 && n < 16 && UNLIKELY(p % n) && hc_self)
        hc_check_misaligned(&(hc_access){.address = p, .pc = pc, .bytes = n, .kind = kind});
}

/* A flag in global memory that is polled through volatile orders what fences stand around it. */
INLINE void volatile_access(uintptr_t p, unsigned n, unsigned kind, uintptr_t pc) {
    access(p, n, kind | ACCESS_STRONG, pc);
    if (hc_self && p - hc_check.region[REGION_GLOBAL].base < hc_check.region[REGION_GLOBAL].bytes)
        hc_check_sync_access(p, kind & ACCESS_WRITE);
}

#define PLAIN(bytes)                                                                               \
    HOOK void __tsan_read##bytes(void *p);                                                         \
    HOOK void __tsan_write##bytes(void *p);                                                        \
    HOOK void __tsan_unaligned_read##bytes(void *p);                                               \
    HOOK void __tsan_unaligned_write##bytes(void *p);                                              \
    HOOK void __tsan_volatile_read##bytes(void *p);                                                \
    HOOK void __tsan_volatile_write##bytes(void *p);                                               \
    HOOK void __tsan_unaligned_volatile_read##bytes(void *p);                                      \
    HOOK void __tsan_unaligned_volatile_write##bytes(void *p);                                     \
    void __tsan_read##bytes(void *p) {                                                             \
        aligned((uintptr_t)p, bytes, ACCESS_READ, CALLER);                                         \
        access((uintptr_t)p, bytes, ACCESS_READ, CALLER);                                          \
    }                                                                                              \
    void __tsan_write##bytes(void *p) {                                                            \
        aligned((uintptr_t)p, bytes, ACCESS_WRITE, CALLER);                                        \
        access((uintptr_t)p, bytes, ACCESS_WRITE, CALLER);                                         \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(void *p) {                                                   \
        access((uintptr_t)p, bytes, ACCESS_READ, CALLER);                                          \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void *p) {                                                  \
        access((uintptr_t)p, bytes, ACCESS_WRITE, CALLER);                                         \
    }                                                                                              \
    void __tsan_volatile_read##bytes(void *p) {                                                    \
        volatile_access((uintptr_t)p, bytes, ACCESS_READ, CALLER);                                 \
    }                                                                                              \
    void __tsan_volatile_write##bytes(void *p) {                                                   \
        volatile_access((uintptr_t)p, bytes, ACCESS_WRITE, CALLER);                                \
    }                                                                                              \
    void __tsan_unaligned_volatile_read##bytes(void *p) {                                          \
        volatile_access((uintptr_t)p, bytes, ACCESS_READ, CALLER);                                 \
    }                                                                                              \
    void __tsan_unaligned_volatile_write##bytes(void *p) {                                         \
        volatile_access((uintptr_t)p, bytes, ACCESS_WRITE, CALLER);                                \
    }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

/* ---- ranges: struct copies, memcpy and memset; counted as accesses of four bytes ---- */

INLINE void range(uintptr_t p, size_t n, unsigned kind, uintptr_t pc) {
    if (!hc_self) {
        if (hc_check.guarded) hc_check_host(p, n, kind, pc, FRAMES);
        if (hc_check.queued) hc_check_unwaited_access(p, n, kind, pc);
        return;
    }
    while (n > 0) {
        unsigned part = 4 - p % 4 < n ? (unsigned)(4 - p % 4) : (unsigned)n;
        access(p, part, kind, pc);
        p += part, n -= part;
    }
}

HOOK void __tsan_read_range(void *p, size_t n);
HOOK void __tsan_write_range(void *p, size_t n);
void __tsan_read_range(void *p, size_t n) { range((uintptr_t)p, n, ACCESS_READ, CALLER); }
void __tsan_write_range(void *p, size_t n) { range((uintptr_t)p, n, ACCESS_WRITE, CALLER); }

/* objcopy gives these names to what a student's object calls memcpy or, fortified, __memcpy_chk,
 * whose fourth argument is left alone; newer clangs call __tsan_memcpy themselves. */
#define COPY(name)                                                                                 \
    HOOK void *name(void *to, const void *from, size_t n);                                         \
    void *name(void *to, const void *from, size_t n) {                                             \
        range((uintptr_t)from, n, ACCESS_READ, CALLER);                                            \
        range((uintptr_t)to, n, ACCESS_WRITE, CALLER);                                             \
        return memmove(to, from, n);                                                               \
    }
#define SET(name)                                                                                  \
    HOOK void *name(void *to, int value, size_t n);                                                \
    void *name(void *to, int value, size_t n) {                                                    \
        range((uintptr_t)to, n, ACCESS_WRITE, CALLER);                                             \
        return memset(to, value, n);                                                               \
    }
COPY(hc_check_memcpy)
COPY(hc_check_memmove)
COPY(hc_check_memcpy_chk)
COPY(hc_check_memmove_chk)
COPY(__tsan_memcpy)
COPY(__tsan_memmove)
SET(hc_check_memset)
SET(hc_check_memset_chk)
SET(__tsan_memset)

/* ... and what else of the C library writes through a pointer, and is not for debugging alone. */
#define PARTS(name, type, part)                                                                    \
    HOOK type hc_check_##name(type x, part *p);                                                    \
    type hc_check_##name(type x, part *p) {                                                        \
        range((uintptr_t)p, sizeof *p, ACCESS_WRITE, CALLER);                                      \
        return name(x, p);                                                                         \
    }
PARTS(modf, double, double)
PARTS(modff, float, float)
PARTS(frexp, double, int)
PARTS(frexpf, float, int)

extern void sincos(double x, double *s, double *c); /* (not declared without _GNU_SOURCE) */
extern void sincosf(float x, float *s, float *c);
#define SINCOS(name, type)                                                                         \
    HOOK void hc_check_##name(type x, type *s, type *c);                                           \
    void hc_check_##name(type x, type *s, type *c) {                                               \
        range((uintptr_t)s, sizeof *s, ACCESS_WRITE, CALLER);                                      \
        range((uintptr_t)c, sizeof *c, ACCESS_WRITE, CALLER);                                      \
        name(x, s, c);                                                                             \
    }
SINCOS(sincos, double)
SINCOS(sincosf, float)

HOOK int hc_check_snprintf(char *to, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int hc_check_snprintf(char *to, size_t room, const char *format, ...) {
    range((uintptr_t)to, room, ACCESS_WRITE, CALLER);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- atomics ---- */

/* atomicAdd and its kin load first and then compare and exchange: the load is not counted. Device
 * variables apart, what is no device memory is the runtime's own. */
INLINE void atomic_load(uintptr_t p, unsigned n, uintptr_t pc) {
    if (!hc_self && hc_check.guarded) hc_check_host(p, n, ACCESS_READ, pc, FRAMES);
    if (!hc_self) return;
    for (int i = 0; i < REGIONS; i++)
        if (p - hc_check.region[i].base < hc_check.region[i].bytes)
            access(p, n, ACCESS_STRONG | ACCESS_ATOMIC | ACCESS_SILENT, pc);
}

static void atomic_compare(uintptr_t p) {
    for (int i = 0; i < REGIONS && hc_self; i++)
        if (p - hc_check.region[i].base < hc_check.region[i].bytes)
            hc_check_compares(&hc_check.region[i], p - hc_check.region[i].base);
}

INLINE void atomic_update(uintptr_t p, unsigned n, uintptr_t pc) {
    access(p, n, ACCESS_STRONG | ACCESS_ATOMIC, pc);
    if (!hc_self) return;
    hc_check_sync_access(p, true);
}

#define FETCH(bits, type, name, result)                                                            \
    HOOK type __tsan_atomic##bits##_##name(volatile type *p, type v, int order);                   \
    type __tsan_atomic##bits##_##name(volatile type *p, type v, int order) {                       \
        (void)order;                                                                               \
        atomic_update((uintptr_t)p, bits / 8, CALLER);                                             \
        type old = *p;                                                                             \
        *p = (type)(result);                                                                       \
        return old;                                                                                \
    }
#define EXCHANGE(bits, type, name)                                                                 \
    HOOK int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected,       \
                                                           type v, int order, int failure);        \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *p, type *expected, type v,    \
                                                      int order, int failure) {                    \
        (void)order, (void)failure;                                                                \
        atomic_compare((uintptr_t)p);                                                              \
        atomic_update((uintptr_t)p, bits / 8, CALLER);                                             \
        type old = *p;                                                                             \
        if (old == *expected) return *p = v, 1;                                                    \
        return *expected = old, 0;                                                                 \
    }
#define ATOMIC(bits, type)                                                                         \
    FETCH(bits, type, exchange, v)                                                                 \
    FETCH(bits, type, fetch_add, old + v)                                                          \
    FETCH(bits, type, fetch_sub, old - v)                                                          \
    FETCH(bits, type, fetch_and, old &v)                                                           \
    FETCH(bits, type, fetch_or, old | v)                                                           \
    FETCH(bits, type, fetch_xor, old ^ v)                                                          \
    FETCH(bits, type, fetch_nand, ~(old & v))                                                      \
    EXCHANGE(bits, type, strong)                                                                   \
    EXCHANGE(bits, type, weak)                                                                     \
    HOOK type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v,  \
                                                         int order, int failure);                  \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type expected, type v,       \
                                                    int order, int failure) {                      \
        (void)order, (void)failure;                                                                \
        atomic_compare((uintptr_t)p);                                                              \
        atomic_update((uintptr_t)p, bits / 8, CALLER);                                             \
        type old = *p;                                                                             \
        if (old == expected) *p = v;                                                               \
        return old;                                                                                \
    }                                                                                              \
    HOOK type __tsan_atomic##bits##_load(const volatile type *p, int order);                       \
    type __tsan_atomic##bits##_load(const volatile type *p, int order) {                           \
        atomic_load((uintptr_t)p, bits / 8, CALLER);                                               \
        if (order == __ATOMIC_ACQUIRE && hc_self) hc_check_sync_access((uintptr_t)p, false);       \
        return *p;                                                                                 \
    }                                                                                              \
    HOOK void __tsan_atomic##bits##_store(volatile type *p, type v, int order);                    \
    void __tsan_atomic##bits##_store(volatile type *p, type v, int order) {                        \
        access((uintptr_t)p, bits / 8, ACCESS_WRITE | ACCESS_STRONG | ACCESS_ATOMIC, CALLER);      \
        if (order == __ATOMIC_RELEASE && hc_self) hc_check_sync_access((uintptr_t)p, true);        \
        *p = v;                                                                                    \
    }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

HOOK void __tsan_atomic_thread_fence(int order);
HOOK void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    (void)order;
    if (hc_self) hc_check_fence();
}
void __tsan_atomic_signal_fence(int order) { (void)order; }

/* ---- what -fsanitize=alignment, object-size and bounds-strict tell of: clang copies a float4 by
 * memcpy, and an array whose address goes nowhere has no hooks ---- */

struct place {
    const char *file;
    unsigned line, column;
};
struct bounds {
    struct place place;
    const struct {
        unsigned short kind, about;
        char name[]; /* 'float [64]' */
    } * array;
    const void *index;
};
struct mismatch {
    struct place place;
    const void *type;
    unsigned char log_alignment, what;
};
HOOK void __ubsan_handle_type_mismatch_v1(struct mismatch *data, uintptr_t p);
HOOK void __ubsan_handle_out_of_bounds(struct bounds *data, uintptr_t index);
void __ubsan_handle_type_mismatch_v1(struct mismatch *data, uintptr_t p) {
    if (p % ((uintptr_t)1 << data->log_alignment) == 0)
        hc_check_beyond((hc_site){data->place.file, (int)data->place.line}, NULL, 0);
    else if (hc_self)
        hc_check_misaligned(
            &(hc_access){.address = p, .pc = CALLER, .bytes = 1u << data->log_alignment});
}
void __ubsan_handle_out_of_bounds(struct bounds *data, uintptr_t index) {
    hc_check_beyond((hc_site){data->place.file, (int)data->place.line}, data->array->name,
                    (long)index);
}

/* ---- where an object's virtual functions are: written where it begins and ends ---- */

HOOK void __tsan_vptr_read(void **p);
HOOK void __tsan_vptr_update(void **p, void *v);
void __tsan_vptr_read(void **p) { access((uintptr_t)p, sizeof *p, ACCESS_READ, CALLER); }
void __tsan_vptr_update(void **p, void *v) {
    (void)v;
    access((uintptr_t)p, sizeof *p, ACCESS_WRITE, CALLER);
}

/* ---- the thread's way, by which lockstep.c lays those of a warp side by side ---- */

INLINE void step(hc_log_step what, uintptr_t pc) {
    uintptr_t unused = FRAMES - hc_check.stack;
    if (UNLIKELY(unused < hc_check.unused)) hc_check.unused = unused;
    if (UNLIKELY(hc_check.log != hc_check.log_end) && hc_self)
        *hc_check.log++ = hc_log_entry(site_of(pc, 0, ACCESS_READ), LOG_STEP, what);
}

HOOK void __sanitizer_cov_trace_pc(void); /* a basic block begins */
HOOK void __tsan_func_entry(void *caller);
HOOK void __tsan_func_exit(void);
void __sanitizer_cov_trace_pc(void) { step(STEP_BLOCK, CALLER); }
void __tsan_func_entry(void *caller) {
    hc_check_enters((uintptr_t)caller, FRAMES, CALLER);
    step(STEP_ENTERS, CALLER);
}
void __tsan_func_exit(void) {
    step(STEP_LEAVES, CALLER);
    hc_check_leaves();
}

/* ---- what needs nothing done ---- */

HOOK void __tsan_init(void);
void __tsan_init(void) {}
