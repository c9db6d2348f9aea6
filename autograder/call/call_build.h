/* call_build.h: how the typed calls put a request together. Known to call_ops*.c alone. */
#ifndef CALL_BUILD_H
#define CALL_BUILD_H

#include "call_ops.h"

/* Buffers of tl_real by role, int32 buffers, and bytes of a struct that lies in device memory. The
 * casts drop const: a request has one pointer for both directions, and IN is never written. */
#define IN(x, n)                                                                                   \
    { #x, CALL_REAL, CALL_IN, (n), (void *)(uintptr_t)(x) }
#define OUT(x, n)                                                                                  \
    { #x, CALL_REAL, CALL_OUT, (n), (x) }
#define INOUT(x, n)                                                                                \
    { #x, CALL_REAL, CALL_INOUT, (n), (x) }
#define INTS_IN(x, n)                                                                              \
    { #x, CALL_INT32, CALL_IN, (n), (void *)(uintptr_t)(x) }
#define INTS_OUT(x, n)                                                                             \
    { #x, CALL_INT32, CALL_OUT, (n), (x) }
#define BYTES_IN(x, n)                                                                             \
    { #x, CALL_BYTES, CALL_IN, (n), (void *)(uintptr_t)(x) }
#define BYTES_OUT(x, n)                                                                            \
    { #x, CALL_BYTES, CALL_OUT, (n), (x) }
#define BYTES_INOUT(x, n)                                                                          \
    { #x, CALL_BYTES, CALL_INOUT, (n), (x) }
/* of tl_real, so that its poison reads as NaN */
#define WORK(bytes)                                                                                \
    { "work", CALL_REAL, CALL_SCRATCH, ((bytes) + sizeof(tl_real) - 1) / sizeof(tl_real), NULL }

#define INTEGERS(...)                                                                              \
    .integer = (const int64_t[]){__VA_ARGS__},                                                     \
    .integers = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define NUMBERS(...) .number = {__VA_ARGS__}
#define BUFFERS(...)                                                                               \
    .buffer = {__VA_ARGS__},                                                                       \
    .buffers = (int)(sizeof((const call_buffer[]){__VA_ARGS__}) / sizeof(call_buffer))

/* CALL(add, INTEGERS(…), BUFFERS(…)) inside a function with parameters t and r */
#define CALL(op_name, ...) call_run(t, &(const call_request){.op = CALL_##op_name, __VA_ARGS__}, r)

#endif
