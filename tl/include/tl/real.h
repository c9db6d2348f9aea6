/* tl/real.h: the storage type of every tensor, and the few math functions that follow it.
 *
 * tl_real is float; with REAL=double (which defines TL_REAL_DOUBLE) the whole tree is built in
 * double. Gradient checks run in double, where central differences are sharp; results and speed
 * are measured in float. Write TL_R(0.5), tl_exp(x), never 0.5f or expf(x): those would keep one
 * spot in float inside the double build, and a gradient check would find it. */
#ifndef TL_REAL_H
#define TL_REAL_H

#include <float.h>
#include <math.h>

#ifdef TL_REAL_DOUBLE
typedef double tl_real;
#define TL_REAL_NAME     "double"
#define TL_REAL_MAX      DBL_MAX
#define TL_REAL_ROUNDOFF (DBL_EPSILON / 2) /* u of one correctly rounded operation, 2^-53 */
#define tl_exp           exp
#define tl_log           log
#define tl_sqrt          sqrt
#define tl_fabs          fabs
#else
typedef float tl_real;
#define TL_REAL_NAME     "float"
#define TL_REAL_MAX      FLT_MAX
#define TL_REAL_ROUNDOFF ((double)FLT_EPSILON / 2) /* 2^-24 */
#define tl_exp           expf
#define tl_log           logf
#define tl_sqrt          sqrtf
#define tl_fabs          fabsf
#endif

/* A constant, rounded once to the storage type. */
#define TL_R(constant) ((tl_real)(constant))

/* In CUDA C a helper marked TL_HD serves host code and kernels alike. */
#ifdef __CUDACC__
#define TL_HD __host__ __device__
#else
#define TL_HD
#endif

static inline TL_HD tl_real tl_max(tl_real a, tl_real b) { return a > b ? a : b; }
static inline TL_HD tl_real tl_min(tl_real a, tl_real b) { return a < b ? a : b; }

#endif
