/* lexer.c: splits CUDA C++ into tokens without being misled by strings, comments and continuations.
 *
 * Comments and white space give no token. A line that starts with # gives one TOKEN_DIRECTIVE, but
 * the body of a #define is split like code, because macros may hold launches. */
#include "rewriter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    source *s;
    size_t at;
    int line;
    bool line_start; /* nothing but white space since the last newline */
    bool in_define;
    int conditional;
} lexer;

void source_open(source *s, const char *path) {
    *s = (source){.path = path};
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "hostcuda-rewrite: cannot open %s\n", path);
        exit(2);
    }
    size_t room = 0;
    for (size_t got = 1; got > 0; s->size += got) {
        if (s->size + 1 >= room) s->text = realloc(s->text, room = room ? 2 * room : 1 << 16);
        if (!s->text) exit(2);
        got = fread(s->text + s->size, 1, room - s->size - 1, file);
    }
    fclose(file);
    s->text[s->size] = '\0'; /* the lexer may look one character past any other */
    /* a byte order mark: editors write it, and compilers know it at the start of a file alone */
    if (s->size >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0) memset(s->text, ' ', 3);
}

void source_free(source *s) {
    free(s->text);
    free(s->tokens);
    free(s->edits);
}

static void emit(lexer *l, token_kind kind, size_t start, size_t end, int line) {
    source *s = l->s;
    s->tokens = grow(s->tokens, s->count, sizeof *s->tokens);
    s->tokens[s->count++] = (token){.kind = kind,
                                    .start = start,
                                    .length = end - start,
                                    .line = line,
                                    .in_define = l->in_define,
                                    .conditional = l->conditional};
}

/* Length of a backslash-newline at `at`, else 0. */
static size_t continuation(const source *s, size_t at) {
    if (s->text[at] != '\\') return 0;
    if (s->text[at + 1] == '\n') return 2;
    return s->text[at + 1] == '\r' && s->text[at + 2] == '\n' ? 3 : 0;
}

/* Moves over a comment; false if there is none. A // comment ends before its newline. */
static bool skip_comment(lexer *l) {
    const char *text = l->s->text;
    if (text[l->at] != '/') return false;
    if (text[l->at + 1] == '/') {
        while (l->at < l->s->size && text[l->at] != '\n') {
            size_t joined = continuation(l->s, l->at);
            l->line += joined > 0;
            l->at += joined ? joined : 1;
        }
        return true;
    }
    if (text[l->at + 1] != '*') return false;
    for (l->at += 2; l->at < l->s->size; l->at++) {
        if (text[l->at] == '\n') l->line++;
        if (text[l->at] == '*' && text[l->at + 1] == '/') {
            l->at += 2;
            return true;
        }
    }
    return true;
}

/* A string or character literal whose opening quote is at l->at. */
static void skip_quoted(lexer *l) {
    const char *text = l->s->text;
    char quote = text[l->at++];
    while (l->at < l->s->size && text[l->at] != quote && text[l->at] != '\n') {
        size_t joined = continuation(l->s, l->at);
        l->line += joined > 0;
        l->at += joined ? joined : text[l->at] == '\\' ? 2 : 1;
    }
    if (text[l->at] == quote) l->at++;
}

/* R"delimiter( … )delimiter", with the quote at l->at. */
static void skip_raw_string(lexer *l) {
    const char *text = l->s->text;
    size_t open = ++l->at;
    while (text[l->at] && text[l->at] != '(') l->at++;
    size_t length = l->at - open;
    for (; l->at < l->s->size; l->at++) {
        if (text[l->at] == '\n') l->line++;
        if (text[l->at] == ')' && strncmp(text + l->at + 1, text + open, length) == 0 &&
            text[l->at + 1 + length] == '"') {
            l->at += length + 2;
            return;
        }
    }
}

static void lex_number(lexer *l) {
    const char *text = l->s->text;
    for (; isalnum((unsigned char)text[l->at]) || strchr("._'", text[l->at]); l->at++) {
        if (!text[l->at]) return;
        bool exponent = strchr("eEpP", text[l->at]) && strchr("+-", text[l->at + 1]);
        if (exponent && text[l->at + 1]) l->at++;
    }
}

/* A name, or a literal with a prefix such as u8R"(…)". */
static token_kind lex_name(lexer *l) {
    const char *text = l->s->text;
    size_t start = l->at;
    while (isalnum((unsigned char)text[l->at]) || text[l->at] == '_') l->at++;
    size_t length = l->at - start;
    bool prefix = length <= 3 && strspn(text + start, "uULR8") >= length;
    if (!prefix || (text[l->at] != '"' && text[l->at] != '\'')) return TOKEN_NAME;
    if (text[l->at - 1] == 'R')
        skip_raw_string(l);
    else
        skip_quoted(l);
    return TOKEN_TEXT;
}

static token_kind lex_punct(lexer *l) {
    const char *text = l->s->text + l->at;
    if (strncmp(text, "<<<", 3) == 0) {
        l->at += 3;
        return TOKEN_LAUNCH;
    }
    l->at += strncmp(text, "::", 2) == 0 || strncmp(text, "->", 2) == 0 ? 2 : 1;
    return TOKEN_PUNCT;
}

static const char *directive_name(const char *text, size_t *length) {
    text += strspn(text + 1, " \t") + 1;
    *length = strcspn(text, " \t\r\n(\"<\\/");
    return text;
}

/* Counts #if and #endif. A guard (#ifndef as the file's first token) is no condition to speak of.
 */
static void count_conditional(lexer *l, const char *name, size_t length) {
    if (length == 5 && strncmp(name, "endif", 5) == 0) l->conditional--;
    if (strncmp(name, "if", 2) != 0) return;
    bool guard = length == 6 && strncmp(name, "ifndef", 6) == 0 && l->s->count == 0;
    l->conditional += guard ? 0 : 1;
}

static void lex_directive(lexer *l) {
    size_t start = l->at, length;
    int line = l->line;
    const char *name = directive_name(l->s->text + start, &length);
    if (length == 6 && strncmp(name, "define", 6) == 0) {
        l->at = (size_t)(name - l->s->text) + length;
        l->in_define = true;
        emit(l, TOKEN_DEFINE, start, l->at, line);
        return;
    }
    while (l->at < l->s->size && l->s->text[l->at] != '\n') {
        size_t joined = continuation(l->s, l->at);
        l->line += joined > 0;
        if (joined)
            l->at += joined;
        else if (!skip_comment(l))
            l->at++;
    }
    emit(l, TOKEN_DIRECTIVE, start, l->at, line);
    count_conditional(l, name, length);
}

static void lex_newline(lexer *l) {
    if (l->in_define) emit(l, TOKEN_DEFINE_END, l->at, l->at, l->line);
    l->in_define = false;
    l->line_start = true;
    l->line++;
    l->at++;
}

void source_lex(source *s) {
    lexer l = {.s = s, .line = 1, .line_start = true};
    while (l.at < s->size) {
        char c = s->text[l.at];
        size_t joined = continuation(s, l.at);
        if (joined) {
            l.line++;
            l.at += joined;
        } else if (c == '\n') {
            lex_newline(&l);
        } else if (isspace((unsigned char)c)) {
            l.at++;
        } else if (skip_comment(&l)) {
            continue;
        } else if (c == '#' && l.line_start) {
            l.line_start = false;
            lex_directive(&l);
        } else {
            l.line_start = false;
            size_t start = l.at;
            int line = l.line;
            token_kind kind = TOKEN_TEXT;
            if (c == '"' || c == '\'')
                skip_quoted(&l);
            else if (isdigit((unsigned char)c))
                lex_number(&l), kind = TOKEN_NUMBER;
            else if (isalpha((unsigned char)c) || c == '_')
                kind = lex_name(&l);
            else
                kind = lex_punct(&l);
            emit(&l, kind, start, l.at, line);
        }
    }
    if (l.in_define) emit(&l, TOKEN_DEFINE_END, l.at, l.at, l.line);
}

bool token_is(const source *s, size_t index, const char *spelling) {
    if (index >= s->count) return false;
    const token *t = &s->tokens[index];
    return t->kind != TOKEN_TEXT && t->length == strlen(spelling) &&
           memcmp(s->text + t->start, spelling, t->length) == 0;
}

char *token_text(const source *s, size_t index) {
    return strndup(s->text + s->tokens[index].start, s->tokens[index].length);
}
