/* main.c: hostcuda-rewrite [-I dir]… [-o FILE.hc.cpp] [-d FILE.hc.d] FILE.cu
 *
 * CUDA C++ in, C++17 out (to stdout without -o). Exit status 1: something is not supported, and was
 * named on stderr; then nothing is written. An included file that holds CUDA syntax (a .cuh, or a
 * header with a kernel) is rewritten in place, between line markers, and named in the -d file as
 * make wants it; every other #include is left to the compiler. */
#define _GNU_SOURCE
#include "rewriter.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 30 };

static char **include_dirs;
static size_t include_count;
static char **once_paths; /* files with #pragma once that have been put in */
static size_t once_count;
static source **put_in; /* every header that has been put in, in order */
static size_t put_in_count;
typedef struct known_file {
    char *path;
    bool cuda;
} known_file;
static known_file *known; /* headers that needs_rewriting has looked at */
static size_t known_count;
static int depth;
static bool failed;

/* What a line marker says besides the place, as in a compiler's own preprocessed output. */
typedef enum place { BEGUN, ENTERED = 1, LEFT = 2 } place;

/* "The next line is this one of that file", with the path as a string literal. Unlike #line it
 * tells headers apart from the file itself: compilers warn of what is unused in the one alone. */
static void put_marker(int line, const char *path, place how) {
    printf("# %d \"", line);
    for (; *path; path++) {
        if (*path == '"' || *path == '\\') putchar('\\');
        putchar(*path);
    }
    if (how != BEGUN)
        printf("\" %d\n", how);
    else
        printf("\"\n");
}

static char *find_include(const char *includer, const char *name, size_t length) {
    char *copy = strdup(includer), *path = NULL;
    bool beside = strcmp(dirname(copy), ".") == 0 && includer[0] != '.';
    strcpy(copy, includer);
    for (size_t i = 0; i <= include_count; i++) {
        const char *dir = i == 0 ? dirname(copy) : include_dirs[i - 1];
        int written = i == 0 && beside ? asprintf(&path, "%.*s", (int)length, name)
                                       : asprintf(&path, "%s/%.*s", dir, (int)length, name);
        if (written < 0) exit(2);
        if (access(path, R_OK) == 0) break;
        free(path);
        path = NULL;
    }
    free(copy);
    return path;
}

static bool holds_cuda(const source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->tokens[i].kind == TOKEN_LAUNCH) return true;
        if (token_is(s, i, "__global__") || token_is(s, i, "__shared__")) return true;
        if (token_is(s, i, "__constant__") || token_is(s, i, "__device__")) return true;
    }
    return false;
}

static bool is_pragma_once(const source *s, size_t i) {
    const token *t = &s->tokens[i];
    if (t->kind != TOKEN_DIRECTIVE) return false;
    char word[2][8] = {"", ""};
    return sscanf(s->text + t->start, "# %7[a-z] %7[a-z]", word[0], word[1]) == 2 &&
           strcmp(word[0], "pragma") == 0 && strcmp(word[1], "once") == 0;
}

/* The file that a directive #include "…" names, or NULL. */
static char *included_path(const source *s, size_t i) {
    const token *t = &s->tokens[i];
    if (t->kind != TOKEN_DIRECTIVE) return NULL;
    const char *text = s->text + t->start + 1;
    text += strspn(text, " \t");
    if (strncmp(text, "include", 7) != 0) return NULL;
    text += 7 + strspn(text + 7, " \t");
    return *text == '"' ? find_include(s->path, text + 1, strcspn(text + 1, "\"")) : NULL;
}

/* True if the file, or one that it includes, holds CUDA syntax. Each is looked at once; one that is
 * being looked at counts as plain, for headers may include each other. */
static bool needs_rewriting(const char *path) {
    for (size_t i = 0; i < known_count; i++)
        if (strcmp(known[i].path, path) == 0) return known[i].cuda;
    known = grow(known, known_count, sizeof *known);
    size_t self = known_count++;
    known[self] = (known_file){strdup(path), false};
    source s;
    source_open(&s, path);
    source_lex(&s);
    bool cuda = holds_cuda(&s);
    for (size_t i = 0; i < s.count && !cuda; i++) {
        char *inner = included_path(&s, i);
        cuda = inner && needs_rewriting(inner);
        free(inner);
    }
    source_free(&s);
    known[self].cuda = cuda;
    return cuda;
}

static bool seen_once(source *s) {
    bool once = false;
    for (size_t i = 0; i < s->count; i++) {
        if (!is_pragma_once(s, i)) continue;
        once = true;
        edit_replace(s, s->tokens[i].start, s->tokens[i].length, "");
    }
    if (!once) return false;
    for (size_t i = 0; i < once_count; i++)
        if (strcmp(once_paths[i], s->path) == 0) return true;
    once_paths = grow(once_paths, once_count, sizeof *once_paths);
    once_paths[once_count++] = strdup(s->path);
    return false;
}

/* Captures what rewriting `s` writes, because it becomes an edit of the file that includes it. */
static void rewrite(source *s);

static void put_include(source *s, size_t i, source *included) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = stdout, *memory = open_memstream(&text, &size);
    if (!memory || ++depth > DEPTH_MAX) exit(2);
    stdout = memory;
    if (!seen_once(included)) {
        putchar('\n');
        put_marker(1, included->path, ENTERED);
        rewrite(included);
        putchar('\n');
        put_marker(s->tokens[i].line, s->path, LEFT);
    }
    fclose(memory);
    stdout = out;
    depth--;
    edit_insert(s, s->tokens[i].start, "%s", text);
    edit_replace(s, s->tokens[i].start, s->tokens[i].length, "");
    free(text);
}

/* The header, lexed; kept to the end, for a launch may name a kernel of it. */
static source *header_of(const char *path) {
    source *included = NULL;
    for (size_t i = 0; i < put_in_count && !included; i++)
        if (strcmp(put_in[i]->path, path) == 0) included = put_in[i];
    if (!included) {
        included = malloc(sizeof *included);
        if (!included) exit(2);
        put_in = grow(put_in, put_in_count, sizeof *put_in);
        put_in[put_in_count++] = included;
    }
    source_open(included, strdup(path));
    source_lex(included);
    return included;
}

static void rewrite(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        char *path = included_path(s, i);
        if (path && needs_rewriting(path)) put_include(s, i, header_of(path));
        free(path);
    }
    mark_scopes(s);
    refuse_unsupported(s);
    rewrite_shared(s);
    rewrite_device_variables(s);
    rewrite_static_locals(s);
    rewrite_architecture(s);
    rewrite_names(s);
    rewrite_launches(s, (const source *const *)put_in, put_in_count);
    rewrite_heap(s);
    rewrite_casts(s, (const source *const *)put_in, put_in_count);
    edit_write(s);
    failed |= s->failed;
}

/* A header that is gone must not stop make: hence a rule without a recipe for each. */
static bool write_dependencies(const char *path, const char *target) {
    FILE *out = fopen(path, "w");
    if (!out) return false;
    fprintf(out, "%s:", target);
    for (size_t i = 0; i < put_in_count; i++) fprintf(out, " %s", put_in[i]->path);
    for (size_t i = 0; i < put_in_count; i++) fprintf(out, "\n%s:", put_in[i]->path);
    fprintf(out, "\n");
    return fclose(out) == 0;
}

static bool write_output(const char *path, const char *text, size_t size) {
    FILE *out = path ? fopen(path, "w") : stdout;
    if (!out) return false;
    bool written = fwrite(text, 1, size, out) == size;
    return (path ? fclose(out) : fflush(out)) == 0 && written;
}

/* The whole text is made first, so that a refusal leaves no half a file. */
static int run(const char *path, const char *output, const char *dependencies) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = stdout, *memory = open_memstream(&text, &size);
    if (!memory) return 2;
    source s;
    source_open(&s, path);
    source_lex(&s);
    stdout = memory;
    printf("#include <hostcuda/hostcuda.h>\n");
    put_marker(1, path, BEGUN);
    rewrite(&s);
    stdout = out;
    bool whole = fclose(memory) == 0;
    source_free(&s);
    if (failed) return 1;
    if (whole && write_output(output, text, size) &&
        (!dependencies || write_dependencies(dependencies, output ? output : path)))
        return 0;
    fprintf(stderr, "hostcuda-rewrite: cannot write %s\n", output ? output : "the output");
    return 2;
}

int main(int count, char **arguments) {
    const char *path = NULL, *output = NULL, *dependencies = NULL;
    bool understood = true;
    for (int i = 1; i < count; i++) {
        char letter = arguments[i][0] == '-' ? arguments[i][1] : '\0';
        if (!letter) {
            understood &= !path;
            path = arguments[i];
            continue;
        }
        char *value = arguments[i][2] ? arguments[i] + 2 : i + 1 < count ? arguments[++i] : NULL;
        understood &= value && strchr("Iod", letter);
        if (letter == 'o') output = value;
        if (letter == 'd') dependencies = value;
        if (letter != 'I' || !value) continue;
        include_dirs = grow(include_dirs, include_count, sizeof *include_dirs);
        include_dirs[include_count++] = value;
    }
    if (path && understood) return run(path, output, dependencies);
    fprintf(stderr,
            "usage: hostcuda-rewrite [-I dir]... [-o FILE.hc.cpp] [-d FILE.hc.d] FILE.cu\n");
    return 2;
}
