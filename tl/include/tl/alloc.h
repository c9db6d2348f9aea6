/* tl/alloc.h: a caching allocator. Freed blocks are kept by size class and handed out again, so a
 * training step allocates nothing after the first one; and it counts, so a leak or a peak shows.
 *
 * It works for any memory: the device's own malloc and free are given to tl_alloc_new, and the
 * bookkeeping lies outside the blocks, which the host may not be able to touch. */
#ifndef TL_ALLOC_H
#define TL_ALLOC_H

#include <stddef.h>

#include "tl/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_alloc tl_alloc;

/* What the device offers: raw_get returns NULL when memory runs out; blocks are aligned to 256
 * bytes. */
typedef struct tl_alloc_source {
    void *(*raw_get)(void *user, size_t bytes);
    void (*raw_put)(void *user, void *block, size_t bytes);
    void *user;
} tl_alloc_source;

typedef struct tl_alloc_stats {
    size_t live_bytes;   /* handed out now, in size classes */
    size_t peak_bytes;   /* the most that was ever handed out at once */
    size_t held_bytes;   /* taken from the source: live and cached */
    size_t live_blocks;  /* handed out now: 0 at the end, or something leaked */
    size_t source_calls; /* calls of raw_get: constant from the second training step on */
} tl_alloc_stats;

/* Makes an allocator without taking any memory from the source. */
tl_status tl_alloc_new(tl_alloc **alloc, const tl_alloc_source *source);

/* From now on a block is as long as it is asked for, to the byte, and goes back to the source as
 * soon as it is given back: for a source that looks at what lies behind its blocks. Before the
 * first block; not for captured steps. */
void tl_alloc_set_exact(tl_alloc *alloc);

/* Returns all cached blocks to the source and frees the allocator; NULL is allowed. Blocks still
 * handed out are the caller's leak: they are not touched. */
void tl_alloc_free(tl_alloc *alloc);

/* A block of at least `bytes` (0 is allowed and gives a valid block), aligned to 256 bytes, content
 * undefined. TL_ENOMEM names the size wanted and the bytes held. */
tl_status tl_alloc_get(tl_alloc *alloc, void **block, size_t bytes);

/* Gives a block back; NULL is allowed. A pointer that this allocator never handed out, or one given
 * back twice, is TL_EINVAL and changes nothing. */
tl_status tl_alloc_put(tl_alloc *alloc, void *block);

/* Returns the cached blocks to the source, but not those of captured steps while one is held. */
void tl_alloc_trim(tl_alloc *alloc);

/* Between enter and leave blocks are those of captured steps. A graph names them for as long as it
 * lives, so when they are given back they go to captured steps alone, which run one after the other
 * and can share them; from TL_ALLOC_LARGE bytes on the smallest that is large enough serves. */
enum { TL_ALLOC_LARGE = 1 << 20 };
void tl_alloc_enter_step(tl_alloc *alloc);
void tl_alloc_leave_step(tl_alloc *alloc);
/* hold: a captured step names such blocks: they stay with the allocator. release undoes one hold.
 */
void tl_alloc_hold(tl_alloc *alloc);
void tl_alloc_release(tl_alloc *alloc);

tl_alloc_stats tl_alloc_read_stats(const tl_alloc *alloc);

#ifdef __cplusplus
}
#endif
#endif
