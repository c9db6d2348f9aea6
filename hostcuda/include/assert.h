/* assert.h: within a kernel a failed assert names block and thread; elsewhere it aborts as usual.
 * As the standard wants, each #include looks at NDEBUG anew. */
#include <hostcuda/abi.h>

#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    ((condition) ? (void)0 : hc_assert_failed(#condition, __FILE__, __LINE__, __func__))
#endif
#ifndef __cplusplus
#undef static_assert
#define static_assert _Static_assert
#endif
