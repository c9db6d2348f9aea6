/* tl/ops_row.h: how to read ops.def: a row's arguments, walked and put into words of C.
 *
 * A reader defines OP(name, lab, flops, ...), which gets a row's arguments as its last ones, and
 * includes tl/ops.def. TL_EACH(F, ...) makes F(argument) of each of them. The four F below are what
 * most readers want; a reader's own F looks at the kind of an argument in the same way. */
#ifndef TL_OPS_ROW_H
#define TL_OPS_ROW_H

/* F (a) F (b) … for up to twelve arguments, each in parentheses. */
#define TL_EACH(F, ...)                                                                            \
    TL_EACH_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(F, __VA_ARGS__)
#define TL_EACH_OF(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) TL_EACH_##count
#define TL_EACH_1(F, x)                                            F x
#define TL_EACH_2(F, x, ...)                                       F x TL_EACH_1(F, __VA_ARGS__)
#define TL_EACH_3(F, x, ...)                                       F x TL_EACH_2(F, __VA_ARGS__)
#define TL_EACH_4(F, x, ...)                                       F x TL_EACH_3(F, __VA_ARGS__)
#define TL_EACH_5(F, x, ...)                                       F x TL_EACH_4(F, __VA_ARGS__)
#define TL_EACH_6(F, x, ...)                                       F x TL_EACH_5(F, __VA_ARGS__)
#define TL_EACH_7(F, x, ...)                                       F x TL_EACH_6(F, __VA_ARGS__)
#define TL_EACH_8(F, x, ...)                                       F x TL_EACH_7(F, __VA_ARGS__)
#define TL_EACH_9(F, x, ...)                                       F x TL_EACH_8(F, __VA_ARGS__)
#define TL_EACH_10(F, x, ...)                                      F x TL_EACH_9(F, __VA_ARGS__)
#define TL_EACH_11(F, x, ...)                                      F x TL_EACH_10(F, __VA_ARGS__)
#define TL_EACH_12(F, x, ...)                                      F x TL_EACH_11(F, __VA_ARGS__)

/* As a function of the dispatch table takes them: `, const tl_real *x`. */
#define TL_PARAM(kind, ...)            TL_PARAM_##kind(__VA_ARGS__)
#define TL_PARAM_IN(type, name, ...)   , const type *name
#define TL_PARAM_OUT(type, name, ...)  , type *name
#define TL_PARAM_INOUT                 TL_PARAM_OUT
#define TL_PARAM_INOUT_UNLESS          TL_PARAM_OUT
#define TL_PARAM_WORK(name, bytes)     , void *name
#define TL_PARAM_VALUE(type, name)     , type name
#define TL_PARAM_GEOM(type, name)      , const type *name
#define TL_PARAM_VIA(type, name, size) /* no argument of its own */

/* Their types alone, for functions that look at none: `, const tl_real *`. */
#define TL_TYPE(kind, ...)            TL_TYPE_##kind(__VA_ARGS__)
#define TL_TYPE_IN(type, ...)         , const type *
#define TL_TYPE_OUT(type, ...)        , type *
#define TL_TYPE_INOUT                 TL_TYPE_OUT
#define TL_TYPE_INOUT_UNLESS          TL_TYPE_OUT
#define TL_TYPE_WORK(name, bytes)     , void *
#define TL_TYPE_VALUE(type, name)     , type
#define TL_TYPE_GEOM(type, name)      , const type *
#define TL_TYPE_VIA(type, name, size) /* none */

/* Their names, to pass them on: `, x`. */
#define TL_NAME(kind, ...)            TL_NAME_##kind(__VA_ARGS__)
#define TL_NAME_IN(type, name, ...)   , name
#define TL_NAME_OUT                   TL_NAME_IN
#define TL_NAME_INOUT                 TL_NAME_IN
#define TL_NAME_INOUT_UNLESS          TL_NAME_IN
#define TL_NAME_WORK(name, bytes)     , name
#define TL_NAME_VALUE                 TL_NAME_IN
#define TL_NAME_GEOM                  TL_NAME_IN
#define TL_NAME_VIA(type, name, size) /* none */

#endif
