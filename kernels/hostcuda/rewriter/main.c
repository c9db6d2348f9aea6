/* main.c: hostcuda-rewrite [-I dir]… FILE.cu >FILE.hc.cpp
 *
 * CUDA C++ in, C++17 out. Exit status 1: something is not supported, and was named on stderr.
 * An included file that holds CUDA syntax (a .cuh, or a header with a kernel) is rewritten in
 * place, between #line directives; every other #include is left to the compiler. */
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
static int depth;
static bool failed;

/* Writes `text` as the inside of a string literal. */
static void put_path(const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar(*text);
    }
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

/* True if the directive includes a file with CUDA syntax: then that file is to be put here. */
static char *cuda_include(const source *s, size_t i, source *included) {
    const token *t = &s->tokens[i];
    const char *text = s->text + t->start + 1;
    text += strspn(text, " \t");
    if (strncmp(text, "include", 7) != 0) return NULL;
    text += 7 + strspn(text + 7, " \t");
    if (*text != '"') return NULL;
    char *path = find_include(s->path, text + 1, strcspn(text + 1, "\""));
    if (!path) return NULL;
    source_open(included, path);
    source_lex(included);
    if (holds_cuda(included)) return path;
    source_free(included);
    free(path);
    return NULL;
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
        printf("\n#line 1 \"");
        put_path(included->path);
        printf("\"\n");
        rewrite(included);
    }
    printf("\n#line %d \"", s->tokens[i].line + 1);
    put_path(s->path);
    printf("\"");
    fclose(memory);
    stdout = out;
    depth--;
    edit_insert(s, s->tokens[i].start, "%s", text);
    edit_replace(s, s->tokens[i].start, s->tokens[i].length, "");
    free(text);
}

static void rewrite(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        source included;
        if (s->tokens[i].kind != TOKEN_DIRECTIVE) continue;
        char *path = cuda_include(s, i, &included);
        if (!path) continue;
        put_include(s, i, &included);
        source_free(&included);
        free(path);
    }
    mark_scopes(s);
    refuse_unsupported(s);
    rewrite_shared(s);
    rewrite_device_variables(s);
    rewrite_launches(s);
    edit_write(s);
    failed |= s->failed;
}

int main(int count, char **arguments) {
    const char *path = NULL;
    for (int i = 1; i < count; i++) {
        char *dir = NULL;
        if (strncmp(arguments[i], "-I", 2) == 0) {
            dir = arguments[i][2] ? arguments[i] + 2 : i + 1 < count ? arguments[++i] : NULL;
            if (!dir) break;
            include_dirs = grow(include_dirs, include_count, sizeof *include_dirs);
            include_dirs[include_count++] = dir;
        } else if (path || arguments[i][0] == '-') {
            path = NULL;
            break;
        } else {
            path = arguments[i];
        }
    }
    if (!path) {
        fprintf(stderr, "usage: hostcuda-rewrite [-I dir]... FILE.cu >FILE.hc.cpp\n");
        return 2;
    }
    source s;
    source_open(&s, path);
    source_lex(&s);
    printf("#include <hostcuda/hostcuda.h>\n#line 1 \"");
    put_path(path);
    printf("\"\n");
    rewrite(&s);
    source_free(&s);
    return failed || fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}
