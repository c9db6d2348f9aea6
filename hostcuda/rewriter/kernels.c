/* kernels.c: turns k<<<grid, block, shared, stream>>>(arguments) into a call of hc::hc_kernel.
 *
 *     k<<<g, b>>>(x, 0)        ->  ::hc::hc_kernel(HC_SITE("k"), k, g, b)(x, 0)
 *     axpy<<<g, b>>>(2.f, x)   ->  ::hc::hc_deduced_kernel(HC_SITE("axpy"), [=](auto... hc_a) {
 *                                      axpy(hc_a...); }, g, b)(2.f, x)        (a template)
 *
 * The first form takes a function pointer, so that arguments are converted to the parameters' types
 * at the launch, as in CUDA. The second serves templates whose arguments are deduced, overloaded
 * kernels, those whose name another function has, and parameters with default values, which no
 * pointer carries. */
#include "rewriter.h"

#include <stdlib.h>
#include <string.h>

/* Start of the expression that ends right before token `end`: k, ns::k<T>, (p), table[i].run. */
static size_t kernel_start(const source *s, size_t end) {
    size_t i = end;
    while (i > 0) {
        size_t last = i - 1;
        if (token_is(s, last, ">")) { /* template arguments: back to their < */
            int depth = 0;
            do {
                if (token_is(s, last, ")") || token_is(s, last, "]"))
                    last = match_backward(s, last);
                if (last >= s->count) return s->count;
                if (token_is(s, last, ">")) depth++;
                if (token_is(s, last, "<")) depth--;
            } while (depth > 0 && last-- > 0);
            if (last == 0 || last >= s->count) return s->count;
            i = last;
            continue;
        }
        if (token_is(s, last, ")") || token_is(s, last, "]")) {
            bool group = token_is(s, last, ")");
            last = match_backward(s, last);
            if (last >= s->count) return s->count;
            bool postfix = last > 0 && s->tokens[last - 1].kind == TOKEN_NAME &&
                           !token_is(s, last - 1, "return") && !token_is(s, last - 1, "else");
            i = last;
            if (postfix) continue;
            if (!group) return s->count;
        } else if (s->tokens[last].kind == TOKEN_NAME) {
            i = last;
        } else {
            return s->count;
        }
        bool joined = i > 0 && (token_is(s, i - 1, "::") || token_is(s, i - 1, ".") ||
                                token_is(s, i - 1, "->"));
        if (!joined) return i;
        i--;
        bool global = token_is(s, i, "::") &&
                      (i == 0 || (s->tokens[i - 1].kind != TOKEN_NAME && !token_is(s, i - 1, ">")));
        if (global) return i;
    }
    return i;
}

/* The three > that close a launch: the last three of the first run of at least three at depth 0. */
static size_t launch_close(const source *s, size_t open) {
    for (size_t i = open + 1; i < s->count; i++) {
        if (token_is(s, i, "(") || token_is(s, i, "[") || token_is(s, i, "{")) {
            i = match_forward(s, i);
            continue;
        }
        if (token_is(s, i, ";")) return s->count;
        size_t run = 0;
        while (token_is(s, i + run, ">") && s->tokens[i + run].start == s->tokens[i].start + run)
            run++;
        if (run >= 3) return i + run - 3;
        if (run) i += run - 1;
    }
    return s->count;
}

/* Number of template parameters between < at `open` and its >, or -1 for a pack. */
static int template_parameters(const source *s, size_t open, size_t *close) {
    int depth = 0, commas = 0;
    bool pack = false;
    for (size_t i = open; i < s->count; i++) {
        if (token_is(s, i, "(") || token_is(s, i, "{"))
            i = match_forward(s, i);
        else if (token_is(s, i, "<"))
            depth++;
        else if (token_is(s, i, ","))
            commas += depth == 1;
        else if (token_is(s, i, "."))
            pack = true;
        else if (token_is(s, i, ">") && --depth == 0) {
            *close = i;
            return pack ? -1 : commas + 1;
        }
    }
    *close = s->count;
    return -1;
}

/* Those of them that are values with a default: no argument of a launch gives such a one. */
static int template_defaults(const source *s, size_t open, size_t close) {
    int depth = 0, count = 0;
    bool is_type = false;
    for (size_t i = open; i < close; i++) {
        if (token_is(s, i, "<")) depth++;
        if (token_is(s, i, ">")) depth--;
        if (depth != 1) continue;
        if (token_is(s, i, "<") || token_is(s, i, ","))
            is_type = token_is(s, i + 1, "class") || token_is(s, i + 1, "typename");
        count += token_is(s, i, "=") && !is_type;
    }
    return count;
}

/* What a file says of the kernels of one name. */
typedef struct kernel_facts {
    int parameters; /* of the template, -1 for a pack, 0 if it is none */
    int optional;   /* of these, see template_defaults */
    int bodies;     /* more than one: overloaded */
    bool defaults;  /* a parameter has a default value */
    bool shared;    /* a function that is no kernel has the name, too: often its launcher */
} kernel_facts;

/* True for the name of a function that begins here and is no kernel: `void f(float *x, int n) {`,
 * not the call `return f(x);`. */
static bool begins_another(const source *s, size_t name) {
    if (name == 0 || s->tokens[name].in_device || !token_is(s, name + 1, "(")) return false;
    size_t type = name - 1, end = match_forward(s, name + 1);
    bool typed = s->tokens[type].kind == TOKEN_NAME || token_is(s, type, "*") ||
                 token_is(s, type, "&") || token_is(s, type, ">");
    static const char *const calls[] = {"return", "else", "do", "case", "throw", "new"};
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) typed &= !token_is(s, type, calls[k]);
    if (!typed || (!token_is(s, end + 1, "{") && !token_is(s, end + 1, ";"))) return false;
    for (size_t i = name; i-- > 0;) {
        if (token_is(s, i, ";") || token_is(s, i, "{") || token_is(s, i, "}")) break;
        if (token_is(s, i, "__global__") || token_is(s, i, "=")) return false;
    }
    return true;
}

static void look_for_kernel(const source *s, const char *wanted, kernel_facts *k) {
    for (size_t i = 0; i < s->count; i++) {
        if (token_is(s, i, wanted)) k->shared |= begins_another(s, i);
        bool is_template = token_is(s, i, "template") && token_is(s, i + 1, "<");
        if (!is_template && !token_is(s, i, "__global__")) continue;
        size_t after = i;
        int count = is_template ? template_parameters(s, i + 1, &after) : 0;
        bool global = false;
        size_t j = after;
        for (; j < s->count && !token_is(s, j, "{") && !token_is(s, j, ";"); j++) {
            global |= token_is(s, j, "__global__");
            bool named = token_is(s, j, wanted) && token_is(s, j + 1, "(");
            if (named && !global) k->shared |= begins_another(s, j);
            if (!named || !global) continue;
            size_t end = match_forward(s, j + 1);
            k->bodies += token_is(s, end + 1, "{");
            for (size_t p = j + 2; p < end; p++) k->defaults |= token_is(s, p, "=");
            if (is_template) k->parameters = count;
            if (is_template && count > 0) k->optional = template_defaults(s, i + 1, after);
            break;
        }
        i = j > i ? j : i;
    }
}

/* True if the kernel of this name cannot be named as one function. A file's own kernels come before
 * those of the headers that were put into it. */
static bool needs_deduction(const source *s, const source *const *headers, size_t header_count,
                            size_t name, int given) {
    char *wanted = token_text(s, name);
    kernel_facts k = {0};
    look_for_kernel(s, wanted, &k);
    for (size_t i = 0; i < header_count; i++) look_for_kernel(headers[i], wanted, &k);
    free(wanted);
    bool all_given = given > 0 && given <= k.parameters && given >= k.parameters - k.optional;
    return k.bodies > 1 || k.defaults || k.shared || (k.parameters != 0 && !all_given);
}

static char *quoted_source(const source *s, size_t first, size_t last) {
    size_t start = s->tokens[first].start;
    size_t end = s->tokens[last].start + s->tokens[last].length;
    char *text = malloc(2 * (end - start) + 1);
    if (!text) exit(2);
    size_t n = 0;
    for (size_t i = start; i < end; i++) {
        char c = s->text[i];
        if (c == '\n' || c == '\r' || (c == '\\' && s->text[i + 1] == '\n')) continue;
        if (c == '"' || c == '\\') text[n++] = '\\';
        text[n++] = c;
    }
    text[n] = '\0';
    return text;
}

static void rewrite_launch(source *s, const source *const *headers, size_t header_count,
                           size_t open) {
    size_t first = kernel_start(s, open), close = launch_close(s, open);
    if (first >= open || close >= s->count || !token_is(s, close + 3, "(")) {
        refuse(s, open, "this form of <<< >>>", "write kernel<<<grid, block>>>(arguments)");
        return;
    }
    if (s->tokens[open].in_device) {
        refuse(s, open, "dynamic parallelism (a launch within a kernel)",
               "launch from host code, or call a __device__ function");
        return;
    }
    size_t name = open - 1;
    int given = 0;
    if (token_is(s, name, ">")) {
        int depth = 0;
        do {
            if (token_is(s, name, ">")) depth++;
            if (token_is(s, name, "<")) depth--;
        } while (depth > 0 && name-- > first);
        size_t end;
        given = template_parameters(s, name, &end);
        name--;
    }
    bool named = s->tokens[name].kind == TOKEN_NAME;
    bool deduced = named && needs_deduction(s, headers, header_count, name, given);
    char *spelling = quoted_source(s, first, open - 1);
    size_t start = s->tokens[first].start;
    edit_insert(s, start,
                deduced ? "::hc::hc_deduced_kernel(HC_SITE(\"%s\"), [=](auto... hc_a) { "
                        : "::hc::hc_kernel(HC_SITE(\"%s\"), ",
                spelling);
    edit_replace(s, s->tokens[open].start, 3, deduced ? "(hc_a...); }, " : ", ");
    edit_replace(s, s->tokens[close].start, 3, ")");
    free(spelling);
}

void rewrite_launches(source *s, const source *const *headers, size_t header_count) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->tokens[i].kind != TOKEN_LAUNCH) continue;
        if (i > 0 && token_is(s, i - 1, "operator")) continue; /* operator<<<T>(…) */
        rewrite_launch(s, headers, header_count, i);
    }
}
