/* scope.c: which tokens lie in the body of a __global__ or __device__ function; matching brackets.
 */
#include "rewriter.h"

#include <string.h>

static char bracket(const source *s, size_t i) {
    const token *t = &s->tokens[i];
    return t->kind == TOKEN_PUNCT && t->length == 1 ? s->text[t->start] : '\0';
}

size_t match_forward(const source *s, size_t open) {
    int depth = 0;
    for (size_t i = open; i < s->count; i++) {
        char c = bracket(s, i);
        if (c && strchr("([{", c)) depth++;
        if (c && strchr(")]}", c) && --depth == 0) return i;
    }
    return s->count;
}

size_t match_backward(const source *s, size_t close) {
    int depth = 0;
    for (size_t i = close + 1; i-- > 0;) {
        char c = bracket(s, i);
        if (c && strchr(")]}", c)) depth++;
        if (c && strchr("([{", c) && --depth == 0) return i;
    }
    return s->count;
}

/* From __global__ or __device__ at `i` to the `{` of the function's body; count if it is a
 * declaration or a variable. A function has a parameter list before its brace. */
static size_t body_of(const source *s, size_t i) {
    bool parameters = false;
    for (size_t j = i + 1; j < s->count; j++) {
        char c = bracket(s, j);
        if (c == ';' || c == '=' || c == '}') return s->count;
        if (c == '{') return parameters ? j : s->count;
        if (c == '(') {
            bool attribute = token_is(s, j - 1, "__launch_bounds__") ||
                             token_is(s, j - 1, "__align__") || token_is(s, j - 1, "alignas");
            parameters |= !attribute;
            j = match_forward(s, j);
        }
    }
    return s->count;
}

/* __host__ may stand on either side of __device__. */
static bool is_for_host_too(const source *s, size_t device, size_t open) {
    for (size_t i = device; i < open && !token_is(s, i, "("); i++)
        if (token_is(s, i, "__host__")) return true;
    for (size_t i = device; i-- > 0 && s->tokens[i].kind == TOKEN_NAME;)
        if (token_is(s, i, "__host__")) return true;
    return false;
}

/* Host code in a __host__ __device__ function is device code too. */
void mark_scopes(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (!token_is(s, i, "__global__") && !token_is(s, i, "__device__")) continue;
        size_t open = body_of(s, i);
        if (open == s->count) continue;
        size_t close = match_forward(s, open);
        bool both = is_for_host_too(s, i, open);
        for (size_t j = open; j < close; j++) {
            s->tokens[j].in_device = true;
            s->tokens[j].in_both |= both;
        }
    }
}
