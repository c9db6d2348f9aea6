/* ptx.c: an asm() of one PTX instruction becomes an expression of C:
 *
 *     asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
 * ->  ((void)((d) = ::hc::ptx::lop3((a), (b), (c), 0x96)));
 *
 * The instruction is one of the table below, and its result goes to %0. All others are refused. */
#define _GNU_SOURCE
#include "rewriter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name, *expression; /* $1, $2, …: what is read */
} row;

static const row instructions[] = {
    {"mov.u32", "$1"},
    {"mov.s32", "$1"},
    {"mov.b32", "$1"},
    {"mov.u64", "$1"},
    {"mov.s64", "$1"},
    {"mov.b64", "$1"},
    {"mov.f32", "$1"},
    {"add.u32", "(unsigned)$1 + (unsigned)$2"},
    {"add.f32", "$1 + $2"},
    {"mul.hi.u32", "__umulhi($1, $2)"},
    {"mul.hi.s32", "__mulhi($1, $2)"},
    {"mad.lo.u32", "::hc::ptx::mad_lo($1, $2, $3)"},
    {"brev.b32", "__brev($1)"},
    {"popc.b32", "__popc($1)"},
    {"clz.b32", "__clz((int)$1)"},
    {"bfind.u32", "::hc::ptx::bfind($1)"},
    {"bfe.u32", "::hc::ptx::bfe($1, $2, $3)"},
    {"lop3.b32", "::hc::ptx::lop3($1, $2, $3, $4)"},
    {"prmt.b32", "__byte_perm($1, $2, $3)"},
    {"shf.l.wrap.b32", "__funnelshift_l($1, $2, $3)"},
    {"shf.r.wrap.b32", "__funnelshift_r($1, $2, $3)"},
    {"fma.rn.f32", "fmaf($1, $2, $3)"},
    {"fma.rn.f64", "fma($1, $2, $3)"},
    {"ex2.approx.f32", "exp2f($1)"},
    {"ex2.approx.ftz.f32", "exp2f($1)"},
    {"lg2.approx.f32", "log2f($1)"},
    {"rcp.approx.f32", "1.0f / $1"},
    {"sqrt.approx.f32", "sqrtf($1)"},
    {"rsqrt.approx.f32", "rsqrtf($1)"},
    {"tanh.approx.f32", "tanhf($1)"},
};

static const row registers[] = {
    {"laneid", "::hc::ptx::laneid()"},
    {"warpid", "::hc::ptx::warpid()"},
    {"lanemask_eq", "::hc::ptx::lanemask_eq()"},
    {"lanemask_lt", "::hc::ptx::lanemask_lt()"},
    {"lanemask_le", "::hc::ptx::lanemask_le()"},
    {"lanemask_gt", "::hc::ptx::lanemask_gt()"},
    {"lanemask_ge", "::hc::ptx::lanemask_ge()"},
    {"clock", "::hc::ptx::cycles()"},
    {"clock64", "::hc::ptx::cycles64()"},
    {"globaltimer", "::hc::ptx::cycles64()"},
    {"tid.x", "threadIdx.x"},
    {"tid.y", "threadIdx.y"},
    {"tid.z", "threadIdx.z"},
    {"ntid.x", "blockDim.x"},
    {"ctaid.x", "blockIdx.x"},
    {"ctaid.y", "blockIdx.y"},
    {"nctaid.x", "gridDim.x"},
};

static const row *find(const row *rows, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

enum { MOST = 8 };
typedef struct statement {
    char *text;            /* the instruction, without quotes, escapes and its semicolon */
    char *operands[MOST];  /* the expressions in brackets, outputs first */
    size_t count, outputs; /* of the operands */
} statement;

static void forget(statement *a) {
    free(a->text);
    for (size_t i = 0; i < a->count; i++) free(a->operands[i]);
}

/* A literal's text with its escapes gone: they are spaces between instructions. */
static char *unquoted(const source *s, size_t i) {
    char *text = token_text(s, i);
    size_t length = 0, size = strlen(text);
    for (size_t k = 1; k + 1 < size; k++) {
        bool escape = text[k] == '\\';
        text[length++] = escape ? ' ' : text[k];
        k += escape;
    }
    while (length > 0 && strchr("; ", text[length - 1])) length--;
    text[length] = '\0';
    return text;
}

/* The parts of the asm whose bracket opens at `open`: false if it has another form. */
static bool take_apart(const source *s, size_t open, size_t close, statement *a) {
    *a = (statement){0};
    size_t i = open + 1;
    if (i >= close || s->tokens[i].kind != TOKEN_TEXT || s->text[s->tokens[i].start] != '"')
        return false;
    a->text = unquoted(s, i++);
    for (int section = 0; i < close && section < 2; section++) {
        if (token_is(s, i, "::")) {
            section++;
        } else if (!token_is(s, i, ":")) {
            return false;
        }
        for (i++; i < close && s->tokens[i].kind == TOKEN_TEXT; i++) {
            size_t end = match_forward(s, i + 1);
            if (!token_is(s, i + 1, "(") || end >= close || a->count == MOST) return false;
            size_t from = s->tokens[i + 1].start;
            a->operands[a->count++] = strndup(s->text + from, s->tokens[end].start + 1 - from);
            if (section == 0) a->outputs = a->count;
            i = end + 1;
            if (!token_is(s, i, ",")) break;
        }
    }
    return i >= close || token_is(s, i, ":");
}

/* What an operand of the instruction is in C: one of the statement's, a register or a number. */
static const char *operand(const statement *a, const char *name) {
    if (isdigit((unsigned char)name[0])) return name;
    if (name[0] != '%') return NULL;
    const char *rest = name + (name[1] == '%' ? 2 : 1);
    if (isdigit((unsigned char)*rest)) {
        size_t at = strtoul(rest, NULL, 10);
        return at < a->count ? a->operands[at] : NULL;
    }
    const row *found = find(registers, sizeof registers / sizeof *registers, rest);
    return found ? found->expression : NULL;
}

/* `expression` with its $n replaced; NULL if one is missing or one is left over. */
static char *filled(const char *expression, const char *const *values, size_t count) {
    char *text = NULL;
    size_t size = 0, used = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) exit(2);
    for (const char *c = expression; *c; c++) {
        if (*c != '$') {
            fputc(*c, out);
            continue;
        }
        size_t at = (size_t)(*++c - '1');
        if (at + 1 > used) used = at + 1;
        if (at < count) fputs(values[at], out);
    }
    fclose(out);
    if (used == count) return text;
    free(text);
    return NULL;
}

static char *as_expression(const statement *a) {
    char *copy = strdup(a->text), *rest = NULL;
    if (!copy) exit(2);
    char *name = strtok_r(copy, " ", &rest), *result = NULL, *value = NULL;
    const row *found =
        name ? find(instructions, sizeof instructions / sizeof *instructions, name) : NULL;
    const char *values[MOST] = {NULL};
    size_t count = 0;
    bool whole = found && a->outputs == 1;
    char *to = whole ? strtok_r(NULL, ", ", &rest) : NULL;
    whole = to && strcmp(to, "%0") == 0;
    for (char *one; whole && (one = strtok_r(NULL, ", ", &rest));)
        whole = count < MOST && (values[count++] = operand(a, one));
    if (whole) value = filled(found->expression, values, count);
    if (value && asprintf(&result, "((void)(%s = %s))", a->operands[0], value) < 0) exit(2);
    free(value);
    free(copy);
    return result;
}

/* The asm at `i` in device code: false if it is none that is known here. */
bool rewrite_ptx(source *s, size_t i) {
    size_t open = i + 1;
    while (token_is(s, open, "volatile") || token_is(s, open, "__volatile__")) open++;
    if (!token_is(s, open, "(")) return false;
    size_t close = match_forward(s, open);
    if (close >= s->count) return false;
    statement a;
    char *text = take_apart(s, open, close, &a) ? as_expression(&a) : NULL;
    forget(&a);
    if (!text) return false;
    size_t start = s->tokens[i].start;
    edit_replace(s, start, s->tokens[close].start + 1 - start, text);
    free(text);
    return true;
}
