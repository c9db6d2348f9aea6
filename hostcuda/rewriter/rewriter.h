/* rewriter.h: tokens, edits and messages that the parts of hostcuda-rewrite share.
 *
 * The rewriter never moves a newline: it replaces and inserts text within lines, so that line n of
 * its output is line n of the student's file and compilers, gdb and sanitizers point there. */
#ifndef HOSTCUDA_REWRITER_H
#define HOSTCUDA_REWRITER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum token_kind {
    TOKEN_NAME,      /* identifier or keyword */
    TOKEN_NUMBER,    /* preprocessing number */
    TOKEN_TEXT,      /* string or character literal, raw strings included */
    TOKEN_LAUNCH,    /* <<< */
    TOKEN_PUNCT,     /* one character; only :: and -> are taken together */
    TOKEN_DIRECTIVE, /* a preprocessor line other than #define, from # to its end */
    TOKEN_DEFINE,    /* `#define`; the tokens of the macro's body follow */
    TOKEN_DEFINE_END /* where the macro's body ends; empty */
} token_kind;

typedef struct token {
    token_kind kind;
    size_t start, length; /* in the text */
    int line;
    bool in_define;  /* within the body of a #define */
    bool in_device;  /* within the body of a __global__ or __device__ function */
    bool in_both;    /* ... that is a __host__ function too */
    int conditional; /* how many #if surround it, an include guard not counted */
} token;

/* One source text, its tokens, and the edits to be made to it. */
typedef struct source {
    const char *path;
    char *text;
    size_t size;
    token *tokens;
    size_t count;
    struct edit *edits;
    size_t edit_count;
    bool failed; /* an error was printed */
} source;

/* lexer.c */
void source_open(source *s, const char *path);
void source_lex(source *s);
void source_free(source *s);
bool token_is(const source *s, size_t index, const char *spelling); /* false past the end */
char *token_text(const source *s, size_t index);                    /* the caller frees */

/* edit.c */
void edit_replace(source *s, size_t start, size_t length, const char *text);
void edit_insert(source *s, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void edit_write(const source *s);
void refuse(source *s, size_t index, const char *what, const char *instead);
void *grow(void *array, size_t count,
           size_t size); /* realloc in powers of two; exits without memory */

/* scope.c */
void mark_scopes(source *s);
size_t match_forward(const source *s, size_t open);   /* index of the closing bracket, or count */
size_t match_backward(const source *s, size_t close); /* index of the opening bracket, or count */

/* kernels.c */
void rewrite_launches(source *s, const source *const *headers, size_t header_count);

/* casts.c */
void rewrite_casts(source *s, const source *const *headers, size_t header_count);

/* heap.c */
void rewrite_heap(source *s);

/* declarations.c */
void rewrite_shared(source *s);
void rewrite_device_variables(source *s);
void rewrite_static_locals(source *s);

/* ptx.c */
bool rewrite_ptx(source *s, size_t i);

/* refusals.c */
void refuse_unsupported(source *s);
void rewrite_architecture(source *s);
void rewrite_names(source *s);

#endif
