/* call_host.c: counts the blocks of host memory that this program's own objects hold: a leak where
 * a step fails shows nowhere else. The linker leads their calls here (CALL_WRAPS in mk/modes.mk);
 * libraries go on calling libc. Blocks of the cpu as a device come from aligned_alloc and are none
 * of these. Each request is a step of a call, and may be refused (call_steps.h). */
#include "call_memory.h"
#include "call_steps.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t blocks;

int64_t call_host_blocks(void) { return blocks; }

static void *count(void *block) {
    if (block) blocks++;
    return block;
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

void *__wrap_malloc(size_t bytes) { return refused() ? NULL : count(__real_malloc(bytes)); }

void *__wrap_calloc(size_t n, size_t bytes) {
    return refused() ? NULL : count(__real_calloc(n, bytes));
}

char *__wrap_strdup(const char *text) { return refused() ? NULL : count(__real_strdup(text)); }

/* A block that grows stays one; none becomes one; and one of no bytes is gone in glibc. */
void *__wrap_realloc(void *block, size_t bytes) {
    if (bytes && refused()) return NULL;
    void *moved = __real_realloc(block, bytes);
    if (!block) return count(moved);
    if (!moved && !bytes) blocks--;
    return moved;
}

void __wrap_free(void *block) {
    if (block) blocks--;
    __real_free(block);
}
