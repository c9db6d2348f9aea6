/* unwaited.c: host code that reads page-locked or managed memory while work is queued that changes
 * it: nobody has waited for that work.
 *
 * While something is queued, a read is kept with the value that it found. What an operation finds
 * changed when it begins, somebody else has changed; what is changed when it ends was read too
 * early. Atomic and volatile reads may poll, and are not kept. Where several threads of the host
 * touch memory meanwhile, nothing is told: they may order each other. */
#define _GNU_SOURCE
#include "check.h"

#include <execinfo.h>
#include <string.h>

enum { READS = 4096, PLACES = 256, OF_A_PLACE = 64, FRAMES = 12, BYTES = 16, NEAR = 1 << 16 };

typedef struct place {
    uintptr_t pc;
    void *frames[FRAMES];
    int count, kept;
    bool told;
} place;
static place places[PLACES]; /* by pc, open addressing */

static struct {
    const char *p;
    unsigned n;
    unsigned char value[BYTES];
    uint64_t number; /* operations below it were queued before */
    place *place;
} reads[READS];
static int read_count;
static int running; /* operations, one within the other */
static volatile bool shared;
static pthread_t host;
static bool known;

void hc_check_unwaited_forget(void) {
    read_count = 0;
    for (int i = 0; i < PLACES; i++) places[i].kept = 0;
}

void hc_check_unwaited_queued(bool any) {
    hc_check.queued = any && !shared && hc_options_get()->races;
    if (!any) hc_check_unwaited_forget();
}

static place *place_of(uintptr_t pc) {
    size_t at = hc_mix(pc) % PLACES;
    for (int i = 0; i < PLACES; i++, at = (at + 1) % PLACES) {
        place *e = &places[at];
        if (e->pc == pc) return e;
        if (e->pc) continue;
        e->pc = pc;
        e->count = backtrace(e->frames, FRAMES);
        return e;
    }
    return NULL;
}

static bool is_readable(const char *p, size_t n) {
    hc_buffer *b;
    hc_space space = hc_space_of(p, &b);
    return (space == HC_PINNED || space == HC_MANAGED) && b && !b->freed && p >= b->start &&
           n <= (size_t)(b->start + b->bytes - p);
}

/* (without waiting for the lock: who holds it may wait for this thread) */
void hc_check_unwaited_access(uintptr_t p, size_t n, unsigned kind, uintptr_t pc) {
    if (!known) known = true, host = pthread_self();
    if (!pthread_equal(host, pthread_self())) {
        shared = true;
        hc_check.queued = false;
        return;
    }
    bool local = p - (uintptr_t)__builtin_frame_address(0) < NEAR; /* the usual: a variable */
    if (kind != ACCESS_READ || running || read_count == READS || local) return;
    if (pthread_mutex_trylock(&hc_lock) != 0) return;
    place *e = is_readable((const char *)p, n) ? place_of(pc) : NULL;
    for (size_t at = 0; e && !e->told && at < n && e->kept < OF_A_PLACE; at += BYTES) {
        if (read_count == READS) break;
        unsigned part = n - at < BYTES ? (unsigned)(n - at) : BYTES;
        reads[read_count].p = (const char *)p + at;
        reads[read_count].n = part;
        reads[read_count].number = hc_next_number();
        reads[read_count].place = e;
        memcpy(reads[read_count++].value, (const char *)p + at, part);
        e->kept++;
    }
    pthread_mutex_unlock(&hc_lock);
}

static bool changed(int i) { return memcmp(reads[i].p, reads[i].value, reads[i].n) != 0; }

static void tell(int i, const hc_op *op) {
    place *e = reads[i].place;
    void *pcs[FRAMES + 1] = {(void *)(e->pc - 1)};
    int n = 1, from = 0;
    for (int k = 0; k < e->count; k++)
        if ((uintptr_t)e->frames[k] == e->pc) from = k + 1;
    for (int k = from; k < e->count; k++) pcs[n++] = e->frames[k];
    hc_source source = {.file = "?"};
    hc_source_of(pcs, n, &source);
    hc_text t;
    hc_report_begin(&t, "never-waited", source.file, source.line);
    hc_add(&t, "host code reads memory that %s, queued at %s:%d, changes later", op->name,
           hc_report_shorten(op->site.file), op->site.line);
    hc_buffer *b;
    if (hc_space_of(reads[i].p, &b) && b)
        hc_add(&t, "\n    buffer   byte %zu of %zu, allocated at %s:%d",
               (size_t)(reads[i].p - b->start), b->bytes, hc_report_shorten(b->allocated.file),
               b->allocated.line);
    hc_report_likely(&t,
                     "wait for it first: cudaDeviceSynchronize(), cudaStreamSynchronize(stream) "
                     "or cudaEventSynchronize(event), and look at what it returns");
    hc_report_end(&t);
    e->told = true;
}

void hc_check_unwaited_begins(void) {
    running++;
    int kept = 0;
    for (int i = 0; i < read_count; i++)
        if (is_readable(reads[i].p, reads[i].n) && !changed(i)) reads[kept++] = reads[i];
    read_count = kept;
}

void hc_check_unwaited_ends(const hc_op *op) {
    running--;
    int kept = 0;
    for (int i = 0; i < read_count && !shared; i++) {
        if (is_readable(reads[i].p, reads[i].n) && !changed(i))
            reads[kept++] = reads[i];
        else if (op->number < reads[i].number && !reads[i].place->told)
            tell(i, op);
    }
    read_count = kept;
}
