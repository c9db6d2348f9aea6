/* declarations.c: __shared__ arrays move into the worker's arena, device variables into a section.
 *
 *     __shared__ float tile[16][16];   (each declarator by itself)
 * ->  auto &tile = *({ typedef float hc_type; static hc_shared_site hc_site = {0, …};
 *         (hc_type (*)[16][16])hc_shared(&hc_site, sizeof(hc_type[16][16]), …, "tile"); });
 *
 *     extern __shared__ float s[];         extern __shared__ float s[][8];
 * ->  float *const s = (float *)hc_dynamic_shared();
 *                                      ->  float (*const s)[8] = (float (*)[8])hc_dynamic_shared();
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
    char *type = plain_type(s, first, name, NULL), *variable = token_text(s, name), *text = NULL;
    size_t rows = token_is(s, name + 1, "[") ? match_forward(s, name + 1) + 1 : end;
    char *row = rows < end ? plain_type(s, rows, end, NULL) : strdup("");
    /* At file scope there is no block yet: an object that turns into the pointer when it is used.
     */
    const char *form = "static const ::hc::dynamic_shared<%1$s %3$s> %2$s;";
    if (s->tokens[name].in_device)
        form = *row ? "%1$s (*const %2$s)%3$s = (%1$s (*)%3$s)hc_dynamic_shared();"
                    : "%1$s *const %2$s = (%1$s *)hc_dynamic_shared();";
    int written = asprintf(&text, form, type, variable, row);
    if (written < 0) exit(2);
    edit_replace(s, s->tokens[first].start, s->tokens[end].start + 1 - s->tokens[first].start,
                 text);
    free(text);
    free(row);
    free(variable);
    free(type);
}

/* An array at file scope, for every kernel of the file: an object that turns into the running
 * block's array when it is used. False if it is no such array. */
static bool rewrite_file_scope(source *s, size_t first, size_t name, size_t end) {
    if (!token_is(s, name + 1, "[")) return false;
    for (size_t i = name + 1; i < end; i = match_forward(s, i) + 1)
        if (!token_is(s, i, "[")) return false;
    char *align = NULL, *text = NULL;
    char *type = plain_type(s, first, name, &align), *shape = plain_type(s, name + 1, end, NULL);
    char *variable = token_text(s, name);
    int written = asprintf(
        &text,
        "static hc_shared_site hc_site_%s = {0, sizeof(%s), 0}; static const struct "
        "{ typedef %s hc_type%s; typedef std::remove_extent_t<hc_type> hc_row; operator hc_row *() "
        "const { return (hc_row *)hc_shared(&hc_site_%s, sizeof(hc_type), %s, \"%s\"); } "
        "} %s = {};",
        variable, type, type, shape, variable, align ? align : "alignof(hc_type)", variable,
        variable);
    if (written < 0) exit(2);
    edit_replace(s, s->tokens[first].start, s->tokens[end].start + 1 - s->tokens[first].start,
                 text);
    free(text);
    free(variable);
    free(shape);
    free(type);
    free(align);
    return true;
}

/* One declarator in tokens [from, to): stars, name, dimensions. The braces keep the names that it
 * needs apart, so that a macro which declares arrays can be used twice. */
static void add_declarator(const source *s, size_t from, size_t to, const char *type,
                           const char *align, char **text) {
    size_t name = from;
    while (token_is(s, name, "*")) name++;
    char *variable = token_text(s, name), *declared = NULL;
    char *stars = name > from ? plain_type(s, from, name, NULL) : strdup("");
    char *shape = to > name + 1 ? plain_type(s, name + 1, to, NULL) : strdup(""), *row = NULL;
    /* (of [16][17] a row has the size of what [0] names) */
    if (asprintf(&row, *shape ? "sizeof((*(hc_type %s(*)%s)nullptr)[0])" : "0", stars, shape) < 0)
        exit(2);
    int written =
        asprintf(&declared,
                 "%s auto &%s = *({ typedef %s hc_type; static hc_shared_site hc_site = "
                 "{0, sizeof(hc_type %s), %s}; "
                 "(hc_type %s(*)%s)hc_shared(&hc_site, sizeof(hc_type %s%s), %s, "
                 "HC_NAME(%s)); });",
                 *text, variable, type, stars, row, stars, shape, stars, shape, align, variable);
    if (written < 0) exit(2);
    free(*text);
    *text = declared;
    free(row);
    free(shape);
    free(stars);
    free(variable);
}

static void rewrite_static(source *s, size_t first, size_t declarator, size_t end) {
    char *align = NULL, *text = strdup(""), *named = NULL;
    char *type = plain_type(s, first, declarator, &align);
    if (!align) align = strdup("alignof(hc_type)");
    if (strchr(type, '{')) { /* a structure's body: its name may be used further down */
        if (asprintf(&named, "hc_type%zu", first) < 0) exit(2);
        free(text);
        if (asprintf(&text, "typedef %s %s;", type, named) < 0) exit(2);
    }
    for (size_t from = declarator, i = declarator; i <= end; i++) {
        if (token_is(s, i, "[")) {
            i = match_forward(s, i);
        } else if (token_is(s, i, "=") || token_is(s, i, "{")) {
            refuse(s, i, "an initial value of a __shared__ variable",
                   "CUDA forbids it too: let one thread assign it, then call __syncthreads()");
            break;
        } else if (token_is(s, i, ",") || i == end) {
            add_declarator(s, from, i, named ? named : type, align, &text);
            from = i + 1;
        }
    }
    const token *last = &s->tokens[end]; /* its semicolon, or the end of a macro */
    edit_replace(s, s->tokens[first].start, last->start + last->length - s->tokens[first].start,
                 text);
    free(text);
    free(named);
    free(align);
    free(type);
}

/* A lambda with [=] would copy the array, but a __shared__ array is none of the variables that it
 * captures. */
static void refuse_copying_lambdas(source *s, size_t name, size_t from) {
    char *variable = token_text(s, name);
    for (size_t i = from; i < s->count && s->tokens[i].in_device; i++) {
        if (!token_is(s, i, "[") || !token_is(s, i + 1, "=")) continue;
        size_t body = match_forward(s, i) + 1;
        while (body < s->count && !token_is(s, body, "{") && !token_is(s, body, ";")) body++;
        size_t end = token_is(s, body, "{") ? match_forward(s, body) : body;
        for (size_t k = body; k < end; k++) {
            if (!token_is(s, k, variable)) continue;
            refuse(s, i, "a [=] lambda that uses a __shared__ array", "capture with [&]");
            break;
        }
    }
    free(variable);
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

/* `extern float __shared__ s[];` has its type before the qualifier. */
static size_t typed_start(const source *s, size_t i) {
    while (i > 0 && !s->tokens[i].in_define) {
        bool named = s->tokens[i - 1].kind == TOKEN_NAME && !token_is(s, i - 1, "else") &&
                     !token_is(s, i - 1, "do");
        if (!named && !token_is(s, i - 1, "::")) break;
        i--;
    }
    return i;
}

void rewrite_shared(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (!token_is(s, i, "__shared__")) continue;
        size_t first = typed_start(s, declaration_start(s, i));
        size_t declarator = first_declarator(s, i + 1), end = i;
        while (end < s->count && !token_is(s, end, ";") && s->tokens[end].kind != TOKEN_DEFINE_END)
            end = token_is(s, end, "{") || token_is(s, end, "(") ? match_forward(s, end) + 1
                                                                 : end + 1;
        bool dynamic = false;
        for (size_t j = first; j < declarator && j < end; j++) dynamic |= token_is(s, j, "extern");
        if (declarator >= end) {
            refuse(s, i, "this __shared__ declaration", "write __shared__ type name[size];");
        } else if (dynamic) {
            rewrite_dynamic(s, first, declarator, end);
        } else if (!in_function(s, i) && !s->tokens[i].in_define) {
            if (!rewrite_file_scope(s, first, declarator, end))
                refuse(s, i, "a __shared__ variable outside of a function that is no array",
                       "declare it in the kernel that uses it");
        } else {
            rewrite_static(s, first, declarator, end);
            for (size_t j = declarator; j < end; j++) {
                if (token_is(s, j, "["))
                    j = match_forward(s, j);
                else if (s->tokens[j].kind == TOKEN_NAME)
                    refuse_copying_lambdas(s, j, end);
            }
        }
        i = end;
    }
}

/* `static int calls;` in a kernel is device memory: each such variable is registered with
 * the runtime. A section of their own is not possible: compilers want one kind of function in
 * each. */
void rewrite_static_locals(source *s) {
    for (size_t i = 1; i < s->count; i++) {
        if (!s->tokens[i].in_device || !token_is(s, i, "static")) continue;
        bool begins = token_is(s, i - 1, "{") || token_is(s, i - 1, "}") || token_is(s, i - 1, ";");
        if (!begins) continue;
        size_t name = first_declarator(s, i + 1), end = i;
        bool ours = true;
        while (end < s->count && !token_is(s, end, ";")) {
            ours &= !token_is(s, end, "__shared__");
            end = token_is(s, end, "{") || token_is(s, end, "(") ? match_forward(s, end) + 1
                                                                 : end + 1;
        }
        if (!ours || name >= end) continue;
        for (size_t j = name; j < end; j++) {
            if (token_is(s, j, "*")) continue;
            char *variable = token_text(s, j);
            edit_insert(s, s->tokens[end].start + 1, " HC_STATIC_LOCAL(%s);", variable);
            free(variable);
            while (j < end && !token_is(s, j, ",")) /* over dimensions and initial values */
                j = token_is(s, j, "{") || token_is(s, j, "(") ? match_forward(s, j) + 1 : j + 1;
        }
        i = end;
    }
}

static bool ends_value(const source *s, size_t i) {
    return token_is(s, i, ";") || token_is(s, i, "=") || token_is(s, i, "{");
}

/* __device__ and __constant__ variables get a section of their own: so the runtime knows that their
 * addresses are device memory. A function differs from a variable by its parameter list. */
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
        bool external = token_is(s, first, "extern"), fixed = false, evaluated = false;
        for (i = first; i < s->count && !ends_value(s, i); i++) {
            evaluated |= token_is(s, i, "constexpr");
            if (token_is(s, i, "const")) fixed = true;
            if (token_is(s, i, "*")) fixed = false; /* a variable that points to constants */
        }
        fixed |= evaluated;
        if (!external) edit_insert(s, start, fixed ? "HC_DEVICE_CONSTANT " : "HC_DEVICE_VARIABLE ");
        while (i < s->count && !token_is(s, i, ";")) i++;
    }
}
