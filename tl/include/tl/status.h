/* tl/status.h: how every function of tl says that it failed.
 *
 * The library never prints, exits or aborts. A function that can fail returns tl_status; the first
 * function that notices a failure also leaves one line of text, which tl_error() returns until the
 * next failure of the same thread. Callers pass a status up as it is, with TL_TRY, and first give
 * back what they hold; only programs print it. */
#ifndef TL_STATUS_H
#define TL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_status {
    TL_OK = 0,
    TL_ENOTIMPL, /* this operation is not written yet (or not for this device) */
    TL_EINVAL,   /* an argument is outside its documented range */
    TL_ESHAPE,   /* two shapes do not fit together */
    TL_ENOMEM,   /* host or device memory ran out */
    TL_EIO,      /* a file could not be opened, read or written */
    TL_EFORMAT,  /* a file was read, but its content is damaged or of another kind */
    TL_EDEVICE   /* the device is missing, or a call to it failed */
} tl_status;

/* Name of a status for messages and tests: "TL_OK", "TL_ENOTIMPL", … ; "TL_?" for anything else. */
const char *tl_status_name(tl_status status);

/* The line left by this thread's latest failure, "file.c:12: what happened"; "" if there was none.
 * Owned by the library, valid until the next failure of the same thread. */
const char *tl_error(void);

/* Stores the line (cut at 511 bytes, directories of `file` dropped) and returns `status` unchanged,
 * so that one `return` does both. Use the macros below, which add file and line. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
tl_status
tl_fail(tl_status status, const char *file, int line, const char *format, ...);

#define TL_FAIL(status, ...) tl_fail((status), __FILE__, __LINE__, __VA_ARGS__)

/* Returns early when `call` fails; the message of the callee stands. */
#define TL_TRY(call)                                                                               \
    do {                                                                                           \
        tl_status tl_try_status_ = (call);                                                         \
        if (tl_try_status_ != TL_OK) return tl_try_status_;                                        \
    } while (0)

/* Returns `status` with a message unless `condition` holds: TL_NEED(n > 0, TL_EINVAL, "n is %d", n)
 */
#define TL_NEED(condition, status, ...)                                                            \
    do {                                                                                           \
        if (!(condition)) return TL_FAIL((status), __VA_ARGS__);                                   \
    } while (0)

/* The body of every function that a student has not written yet. */
#define TL_NOT_IMPLEMENTED() TL_FAIL(TL_ENOTIMPL, "%s is not implemented yet", __func__)

#ifdef __cplusplus
}
#endif
#endif
