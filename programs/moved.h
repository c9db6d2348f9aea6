/* moved.h: the bytes that an operation must at least read and write, from its row in tl/ops.def;
 * what it must compute stands there as it is. Profile and benchmark both count by it. */
#ifndef GRADLAB_MOVED_H
#define GRADLAB_MOVED_H

/* `0.0 TL_EACH(MOVED, arguments…)`: what goes in or out counts once, what goes in and out
 * twice; a NULL pointer moves nothing, and scratch is not counted. */
#define ONCE(type, name, count)             +((name) ? (double)(count) * sizeof(type) : 0)
#define MOVED(kind, ...)                    MOVED_##kind(__VA_ARGS__)
#define MOVED_IN(type, name, count, ...)    ONCE(type, name, count)
#define MOVED_OUT                           MOVED_IN
#define MOVED_INOUT(type, name, count, ...) ONCE(type, name, count) ONCE(type, name, count)
#define MOVED_INOUT_UNLESS(type, name, count, condition, ...)                                      \
    ONCE(type, name, count) + ((condition) ? 0 : 0 ONCE(type, name, count))
#define MOVED_WORK(name, bytes)
#define MOVED_VALUE(type, name)
#define MOVED_GEOM(type, name)
#define MOVED_VIA(type, name, count) +(double)(count) * sizeof(type)

#endif
