/* call_arguments.h: a call's arguments as one struct per operation, made from tl/ops.def.
 *
 * It crosses to the side that runs the call as it lies in memory: geometries and numbers as they
 * are, and in front of them the pointers, NULL, one for each buffer of the request in its order;
 * the running side puts device addresses there. */
#ifndef CALL_ARGUMENTS_H
#define CALL_ARGUMENTS_H

#include "tl/backend.h"

#define CALL_POINTER(kind, ...)           CALL_POINTER_##kind(__VA_ARGS__)
#define CALL_POINTER_IN(type, name, ...)  const type *name;
#define CALL_POINTER_OUT(type, name, ...) type *name;
#define CALL_POINTER_INOUT                CALL_POINTER_OUT
#define CALL_POINTER_INOUT_UNLESS         CALL_POINTER_OUT
#define CALL_POINTER_WORK(name, bytes)    void *name;
#define CALL_POINTER_VALUE(type, name)
#define CALL_POINTER_GEOM(type, name)

#define CALL_VALUE(kind, ...) CALL_VALUE_##kind(__VA_ARGS__)
#define CALL_VALUE_IN(...)
#define CALL_VALUE_OUT(...)
#define CALL_VALUE_INOUT(...)
#define CALL_VALUE_INOUT_UNLESS(...)
#define CALL_VALUE_WORK(...)
#define CALL_VALUE_VALUE(type, name) type name;
#define CALL_VALUE_GEOM(type, name)  type name;

#define CALL_STRUCT(op, lab, flops, ...)                                                           \
    typedef struct call_##op##_arguments {                                                         \
        TL_EACH(CALL_POINTER, __VA_ARGS__)                                                         \
        TL_EACH(CALL_VALUE, __VA_ARGS__)                                                           \
    } call_##op##_arguments;
#define OP       CALL_STRUCT
#define OP_CUDA  CALL_STRUCT
#define OP_FUSED CALL_STRUCT
#define OP_DATA(...)
#include "tl/ops.def"

/* The one that leads to more memory: the split's three pointers are buffers, too. */
typedef struct call_batch_load_arguments {
    tl_real *x;
    int32_t *label;
    const tl_step *step;
    uint8_t *images, *labels;
    tl_real *lut;
    tl_device_split split;
    tl_batch_geom g;
} call_batch_load_arguments;

/* Of calls that are no operation of the table. */
typedef struct call_schedule_lr_arguments {
    tl_schedule schedule;
    uint64_t first; /* step */
} call_schedule_lr_arguments;

typedef struct call_init_arguments {
    int which; /* call_init in call_ops.h */
    int fan_in, fan_out;
    uint64_t seed;
    uint32_t stream;
} call_init_arguments;

#endif
