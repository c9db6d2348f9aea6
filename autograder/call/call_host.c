/* call_host.c: counts the blocks of host memory that this program's own objects hold, and knows who
 * took them: a leak where a step fails shows nowhere else. The linker leads their calls here
 * (CALL_WRAPS in mk/modes.mk); libraries go on calling libc. Blocks of the cpu as a device come
 * from aligned_alloc and are none of these. Each request is a step of a call, and may be refused
 * (call_steps.h). */
#include "call_memory.h"
#include "call_steps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t blocks;

/* Who took a block, and in which call, at its place in a table: of two with one place the later
 * alone is known. That is enough to word a failure, and wants no lock. */
enum { TAKEN = 4096 };
static struct { _Atomic uintptr_t block, from, call; } taken[TAKEN];
static _Atomic uintptr_t now = 1;

static size_t place_of(uintptr_t block) { return (block >> 4) % TAKEN; }

int64_t call_host_blocks(void) { return blocks; }

void call_host_forget(void) { now++; }

/* Addresses of the program itself alone: those of a plug-in are looked up elsewhere. */
extern const char __executable_start[], etext[];

void call_host_kept(size_t kept[CALL_KEPT]) {
    int count = 0;
    memset(kept, 0, CALL_KEPT * sizeof *kept);
    for (int i = 0; i < TAKEN && count < CALL_KEPT; i++) {
        uintptr_t from = taken[i].from, begin = (uintptr_t)__executable_start;
        bool of_this = taken[i].block && taken[i].call == now;
        if (!of_this || from <= begin || from >= (uintptr_t)etext) continue;
        size_t at = from - begin - 1; /* of the call, not of what it returns to */
        bool known = false;
        for (int k = 0; k < count; k++) known |= kept[k] == at;
        if (!known) kept[count++] = at;
    }
}

static void *count(void *block, void *from) {
    if (!block) return NULL;
    blocks++;
    size_t place = place_of((uintptr_t)block);
    taken[place].from = (uintptr_t)from;
    taken[place].call = now;
    taken[place].block = (uintptr_t)block;
    return block;
}

static void uncount(void *block) {
    size_t place = place_of((uintptr_t)block);
    if (!block) return;
    blocks--;
    if (taken[place].block == (uintptr_t)block) taken[place].block = 0;
}

/* libc's, by the names that the linker gives them, and ours. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static bool refused(void) { return call_step_now(CALL_HOST_REQUEST) != TL_OK; }

#define CALLER __builtin_return_address(0)

void *__wrap_malloc(size_t bytes) { return refused() ? NULL : count(__real_malloc(bytes), CALLER); }

void *__wrap_calloc(size_t n, size_t bytes) {
    return refused() ? NULL : count(__real_calloc(n, bytes), CALLER);
}

char *__wrap_strdup(const char *text) {
    return refused() ? NULL : count(__real_strdup(text), CALLER);
}

/* A block that grows is another one; it stays where it does not; and one of no bytes is gone in
 * glibc. */
void *__wrap_realloc(void *block, size_t bytes) {
    if (bytes && refused()) return NULL;
    uncount(block); /* before another thread may get its place */
    void *moved = __real_realloc(block, bytes);
    if (!moved && bytes && block) return count(block, CALLER), NULL;
    return count(moved, CALLER);
}

void __wrap_free(void *block) {
    uncount(block);
    __real_free(block);
}
