/* heap.c: malloc, free, new and delete in device code become those of include/hostcuda/heap.h. What
 * is a __host__ function, too, keeps the host's. */
#include "rewriter.h"

#define AT "{__FILE__, __LINE__}"

static void replace_token(source *s, size_t i, const char *text) {
    edit_replace(s, s->tokens[i].start, s->tokens[i].length, text);
}

/* (`new (place) T` allocates nothing, and `= delete` frees nothing) */
void rewrite_heap(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (!s->tokens[i].in_device || s->tokens[i].in_both) continue;
        bool member = i > 0 && (token_is(s, i - 1, ".") || token_is(s, i - 1, "->"));
        bool calls = token_is(s, i + 1, "(") && !member;
        if (calls && token_is(s, i, "malloc")) replace_token(s, i, "hc_heap_malloc");
        if (calls && token_is(s, i, "free")) replace_token(s, i, "hc_heap_free");
        if (token_is(s, i, "new") && !token_is(s, i + 1, "("))
            replace_token(s, i, "new (::hc::heap" AT ")");
        if (!token_is(s, i, "delete") || (i > 0 && token_is(s, i - 1, "="))) continue;
        bool array = token_is(s, i + 1, "[") && token_is(s, i + 2, "]");
        replace_token(s, i, array ? "::hc::deleted_array{" AT "}->*" : "::hc::deleted{" AT "}->*");
        if (array) replace_token(s, i + 1, ""), replace_token(s, i + 2, "");
    }
}
