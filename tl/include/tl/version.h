/* tl/version.h: which library this is, for who loads libtl.so at run time. */
#ifndef TL_VERSION_H
#define TL_VERSION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1.x libraries serve every program that was built with an older 1.x header; TL_ABI, the number in
 * libtl.so.1, grows when a function, a struct or an enum of these headers changes. */
#define TL_VERSION "1.0.0"
enum { TL_ABI = 1 };

/* What the library that answers was built as; compare with the headers' own before any other call:
 * TL_ABI, and sizeof(tl_real), which is 8 in libtl_double.so. */
const char *tl_version(void);
int tl_abi(void);
size_t tl_real_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
