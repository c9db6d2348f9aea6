/* casts.c: a kernel's address without its type, which CUDA launches by.
 *
 *     cudaLaunchKernel((void *)k, …)   ->  cudaLaunchKernel(k, …)
 *     node.func = (void *)k;           ->  node.func = ::hc::noted{"k"}->*k;
 *
 * Without the cast k names its parameters' types; with the second form the runtime learns how to
 * launch what it later gets as a mere address. */
#include "rewriter.h"

#include <stdlib.h>

/* The last token of a cast to void * that begins at `i`, or i: (void *), reinterpret_cast<void *>
 */
static size_t cast_end(const source *s, size_t i) {
    bool named = token_is(s, i, "reinterpret_cast") && token_is(s, i + 1, "<");
    size_t at = i + 1 + named;
    if (!named && !token_is(s, i, "(")) return i;
    if (token_is(s, at, "const")) at++;
    bool whole = token_is(s, at, "void") && token_is(s, at + 1, "*") &&
                 token_is(s, at + 2, named ? ">" : ")");
    return whole ? at + 2 : i;
}

static void replace_tokens(source *s, size_t first, size_t last, const char *text) {
    size_t start = s->tokens[first].start;
    edit_replace(s, start, s->tokens[last].start + s->tokens[last].length - start, text);
}

static bool declares_kernel(const source *s, const char *name) {
    for (size_t i = 0; i < s->count; i++) {
        if (!token_is(s, i, "__global__")) continue;
        for (; i < s->count && !token_is(s, i, "{") && !token_is(s, i, ";"); i++)
            if (token_is(s, i, name) && token_is(s, i + 1, "(")) return true;
    }
    return false;
}

/* What stands behind the cast that ends at `end`: k, &k, (k), and is k a kernel? */
static size_t kernel_behind(const source *s, const source *const *headers, size_t header_count,
                            size_t end) {
    size_t at = end + 1;
    while (token_is(s, at, "&") || token_is(s, at, "(")) at++;
    if (at >= s->count || s->tokens[at].kind != TOKEN_NAME) return s->count;
    char *name = token_text(s, at);
    bool kernel = declares_kernel(s, name);
    for (size_t i = 0; i < header_count && !kernel; i++) kernel = declares_kernel(headers[i], name);
    free(name);
    return kernel ? at : s->count;
}

void rewrite_casts(source *s, const source *const *headers, size_t header_count) {
    for (size_t i = 0; i < s->count; i++) {
        size_t end = cast_end(s, i);
        if (end == i || s->tokens[i].line != s->tokens[end].line) continue;
        bool launched = i > 1 && token_is(s, i - 1, "(") &&
                        (token_is(s, i - 2, "cudaLaunchKernel") ||
                         token_is(s, i - 2, "cudaLaunchCooperativeKernel"));
        size_t name = kernel_behind(s, headers, header_count, end);
        if (name >= s->count) continue;
        if (launched) {
            replace_tokens(s, i, end, "");
            continue;
        }
        char *text = token_text(s, name);
        replace_tokens(s, i, end, "");
        edit_insert(s, s->tokens[i].start, "::hc::noted{\"%s\"}->*", text);
        free(text);
    }
}
