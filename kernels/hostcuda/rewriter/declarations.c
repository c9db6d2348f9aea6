/* declarations.c: __shared__ arrays move into the worker's arena, device variables into a section.
 *
 *     __shared__ float tile[16][16];   (one typedef and one reference per declarator)
 * ->  typedef float hc_type7; static hc_shared_site hc_site7_0; hc_type7 (&tile)[16][16] =
 *         *(hc_type7 (*)[16][16])hc_shared(&hc_site7_0, sizeof(hc_type7[16][16]), alignof(…),
 * "tile"); extern __shared__ float s[];
 * ->  float *const s = (float *)hc_dynamic_shared();
 *
 * A static thread_local would be simpler, but 96 KB of it keeps a plug-in from loading. */
#define _GNU_SOURCE
#include "rewriter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text of tokens [from, to), on one line, without `extern`, `__shared__`, `static` and alignment.
 */
static char *plain_type(const source *s, size_t from, size_t to, char **alignment) {
    size_t size = s->tokens[to - 1].start + s->tokens[to - 1].length - s->tokens[from].start;
    char *text = calloc(size + (to - from) + 1, 1);
    if (!text) exit(2);
    for (size_t i = from; i < to; i++) {
        bool skipped =
            token_is(s, i, "extern") || token_is(s, i, "__shared__") || token_is(s, i, "static");
        if (token_is(s, i, "__align__") || token_is(s, i, "alignas")) {
            size_t end = match_forward(s, i + 1);
            if (alignment && end < to) {
                size_t start = s->tokens[i + 1].start;
                *alignment = strndup(s->text + start, s->tokens[end].start + 1 - start);
            }
            i = end;
            continue;
        }
        if (skipped) continue;
        strncat(text, s->text + s->tokens[i].start, s->tokens[i].length);
        strcat(text, " ");
    }
    return text;
}

static bool ends_declarator(const source *s, size_t i) {
    return token_is(s, i, "[") || token_is(s, i, ";") || token_is(s, i, ",") ||
           token_is(s, i, "=") || token_is(s, i, "{");
}

/* First token of the first declarator of the declaration whose specifiers start at `i`: its stars,
 * else its name. A name that opens a template argument list or a struct body is part of the type.
 */
static size_t first_declarator(const source *s, size_t i) {
    int angle = 0;
    for (; i < s->count && !token_is(s, i, ";"); i++) {
        if (token_is(s, i, "(") || (token_is(s, i, "{") && angle == 0))
            i = match_forward(s, i);
        else if (token_is(s, i, "<"))
            angle++;
        else if (token_is(s, i, ">"))
            angle--;
        else if (angle == 0 && token_is(s, i, "*"))
            return i;
        else if (angle == 0 && s->tokens[i].kind == TOKEN_NAME && ends_declarator(s, i + 1) &&
                 !(token_is(s, i + 1, "{") && i > 0 &&
                   (token_is(s, i - 1, "struct") || token_is(s, i - 1, "union"))) &&
                 !token_is(s, i, "struct") && !token_is(s, i, "union"))
            return i;
    }
    return s->count;
}

static void rewrite_dynamic(source *s, size_t first, size_t name, size_t end) {
    char *type = plain_type(s, first, name, NULL);
    char *variable = token_text(s, name);
    char *text = malloc(2 * strlen(type) + 2 * strlen(variable) + 120);
    if (!text) exit(2);
    /* At file scope there is no block yet: an object that turns into the pointer when it is used.
     */
    if (s->tokens[name].in_device)
        sprintf(text, "%s *const %s = (%s *)hc_dynamic_shared();", type, variable, type);
    else
        sprintf(text, "static const ::hc::dynamic_shared<%s> %s;", type, variable);
    edit_replace(s, s->tokens[first].start, s->tokens[end].start + 1 - s->tokens[first].start,
                 text);
    free(text);
    free(variable);
    free(type);
}

/* One declarator in tokens [from, to): stars, name, dimensions. */
static void add_declarator(const source *s, size_t from, size_t to, const char *type, int part,
                           const char *align, char **text) {
    size_t name = from;
    while (token_is(s, name, "*")) name++;
    char *variable = token_text(s, name), *declared = NULL;
    char *stars = name > from ? plain_type(s, from, name, NULL) : strdup("");
    char *shape = to > name + 1 ? plain_type(s, name + 1, to, NULL) : strdup("");
    /* Parentheses only around what is an array: elsewhere compilers call them unnecessary. */
    const char *form = *shape ? "%s static hc_shared_site %s_%d; %s %s(&%s)%s = *(%s %s(*)%s)"
                                "hc_shared(&%s_%d, sizeof(%s %s%s), %s, \"%s\");"
                              : "%s static hc_shared_site %s_%d; %s %s&%s%s = *(%s %s*%s)"
                                "hc_shared(&%s_%d, sizeof(%s %s%s), %s, \"%s\");";
    int written = asprintf(&declared, form, *text, type, part, type, stars, variable, shape, type,
                           stars, shape, type, part, type, stars, shape, align, variable);
    if (written < 0) exit(2);
    free(*text);
    *text = declared;
    free(shape);
    free(stars);
    free(variable);
}

static void rewrite_static(source *s, size_t first, size_t declarator, size_t end) {
    char *align = NULL, *text = NULL, name[40];
    char *type = plain_type(s, first, declarator, &align);
    snprintf(name, sizeof name, "hc_type%zu", first);
    if (!align && asprintf(&align, "alignof(%s)", name) < 0) exit(2);
    if (asprintf(&text, "typedef %s %s;", type, name) < 0) exit(2);
    int part = 0;
    for (size_t from = declarator, i = declarator; i <= end; i++) {
        if (token_is(s, i, "[")) {
            i = match_forward(s, i);
        } else if (token_is(s, i, "=") || token_is(s, i, "{")) {
            refuse(s, i, "an initial value of a __shared__ variable",
                   "CUDA forbids it too: let one thread assign it, then call __syncthreads()");
            break;
        } else if (token_is(s, i, ",") || i == end) {
            add_declarator(s, from, i, name, part++, align, &text);
            from = i + 1;
        }
    }
    edit_replace(s, s->tokens[first].start, s->tokens[end].start + 1 - s->tokens[first].start,
                 text);
    free(text);
    free(align);
    free(type);
}

/* The declaration's first token: specifiers may stand before __shared__. */
static size_t declaration_start(const source *s, size_t i) {
    static const char *const before[] = {"extern", "static",    "volatile",
                                         "const",  "__align__", "alignas"};
    while (i > 0) {
        size_t previous = i - 1;
        if (token_is(s, previous, ")")) {
            size_t open = match_backward(s, previous);
            if (open == 0 || open >= s->count) return i;
            if (!token_is(s, open - 1, "__align__") && !token_is(s, open - 1, "alignas")) return i;
            previous = open - 1;
        }
        bool specifier = false;
        for (size_t k = 0; k < sizeof before / sizeof *before; k++)
            specifier |= token_is(s, previous, before[k]);
        if (!specifier) return i;
        i = previous;
    }
    return i;
}

/* True within the braces of a function, whether or not a macro hides its __global__. */
static bool in_function(const source *s, size_t i) {
    int depth = 0;
    while (i-- > 0) {
        if (token_is(s, i, "}")) depth++;
        if (token_is(s, i, "{") && depth-- == 0) {
            if (i > 0 && token_is(s, i - 1, ")")) return true;
            depth = 0;
        }
    }
    return false;
}

void rewrite_shared(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (!token_is(s, i, "__shared__")) continue;
        size_t first = declaration_start(s, i), declarator = first_declarator(s, i + 1), end = i;
        while (end < s->count && !token_is(s, end, ";"))
            end = token_is(s, end, "{") || token_is(s, end, "(") ? match_forward(s, end) + 1
                                                                 : end + 1;
        bool dynamic = false;
        for (size_t j = first; j < declarator && j < end; j++) dynamic |= token_is(s, j, "extern");
        if (declarator >= end) {
            refuse(s, i, "this __shared__ declaration", "write __shared__ type name[size];");
        } else if (dynamic) {
            rewrite_dynamic(s, first, declarator, end);
        } else if (!in_function(s, i) && !s->tokens[i].in_define) {
            refuse(s, i, "a __shared__ variable outside of a function",
                   "declare it in the kernel that uses it");
        } else {
            rewrite_static(s, first, declarator, end);
        }
        i = end;
    }
}

/* __device__ and __constant__ variables get a section of their own: so the runtime knows that their
 * addresses are device memory. A function is told from a variable by its parameter list. */
void rewrite_device_variables(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->tokens[i].in_device || s->tokens[i].in_define) continue;
        bool constant = token_is(s, i, "__constant__"), managed = token_is(s, i, "__managed__");
        if (!constant && !managed && !token_is(s, i, "__device__")) continue;
        bool variable = constant || managed;
        for (size_t j = i + 1; j < s->count && !variable; j++) {
            if (token_is(s, j, "__align__") || token_is(s, j, "alignas"))
                j = match_forward(s, j + 1);
            else if (token_is(s, j, "(") || token_is(s, j, "__global__"))
                break;
            else if (token_is(s, j, "operator"))
                break;
            else if (token_is(s, j, ";") || token_is(s, j, "=") || token_is(s, j, "[") ||
                     token_is(s, j, "{"))
                variable = true;
        }
        if (!variable) continue;
        size_t first = declaration_start(s, i), start = s->tokens[first].start;
        bool external = token_is(s, first, "extern"), fixed = false;
        for (i = first; i < s->count && !token_is(s, i, ";") && !token_is(s, i, "="); i++)
            fixed |= token_is(s, i, "const") || token_is(s, i, "constexpr");
        if (!external) edit_insert(s, start, fixed ? "HC_DEVICE_CONSTANT " : "HC_DEVICE_VARIABLE ");
        while (i < s->count && !token_is(s, i, ";")) i++;
    }
}
