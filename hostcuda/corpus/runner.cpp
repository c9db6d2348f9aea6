// runner.cpp: runs every case of the corpus in a process of its own and compares what was reported.
//
// Prints how many right kernels were silent and how many wrong ones were named, kind and line both.
// Exit status 0 only if all were. `corpus NAME` runs one case here, for a debugger.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "results.h"

struct corpus_case {
    const char *name, *file;
    bool right;
    void (*run)();
    corpus_case *next;
};
corpus_case *corpus;

void corpus_failed(const char *file, int line, const char *text) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    _exit(3);
}

static std::string read_file(const char *path) {
    std::string text;
    char part[4096];
    if (FILE *file = fopen(path, "r")) {
        while (size_t n = fread(part, 1, sizeof part, file)) text.append(part, n);
        fclose(file);
    }
    return text;
}

// Where the CHECK=1 build names a mistake better, or names what the ordinary build cannot see, the
// line ends in `// check NAME: KIND`.
static std::string check_mark(const corpus_case *c) {
    return std::string("// check ") + c->name + ": ";
}
static bool is_named_better(const corpus_case *c, const std::string &text) {
#ifdef HOSTCUDA_CHECK
    return text.find(check_mark(c)) != std::string::npos;
#else
    return (void)c, (void)text, false;
#endif
}
static bool is_right(const corpus_case *c) {
    return c->right && !is_named_better(c, read_file(c->file));
}

// With hooks or sanitizers clang++ copies a float4 by a memcpy, of which no alignment is known. An
// arm64 takes a misaligned one, and divides an integer by zero without a fault.
#if defined(__clang__)
#if defined(HOSTCUDA_CHECK) || __has_feature(address_sanitizer)
#define BLIND "// not by clang: "
#endif
#endif
#if defined(__aarch64__)
#undef BLIND
#define BLIND "// not on arm64: "
#endif
static bool is_blind(const corpus_case *c) {
#ifdef BLIND
    return read_file(c->file).find(std::string(BLIND) + c->name) != std::string::npos;
#else
    return (void)c, false;
#endif
}

// What the case's file says beside the mistake: a "FILE:LINE: hostcuda [KIND]" for each kind, in
// the order of their messages; empty without a mark.
static std::vector<std::string> expected(const corpus_case *c) {
    std::string text = read_file(c->file), mark = std::string("// wrong ") + c->name + ": ";
    size_t at = text.find(mark);
    if (is_named_better(c, text)) mark = check_mark(c), at = text.find(mark);
    std::vector<std::string> wanted;
    if (at == std::string::npos) return wanted;
    int line = 1;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    at += mark.size();
    const char *base = strrchr(c->file, '/');
    std::string place =
        std::string(base ? base + 1 : c->file) + ":" + std::to_string(line) + ": hostcuda [";
    for (size_t end, last = text.find('\n', at); at < last; at = end + 2) {
        end = std::min(text.find(", ", at), last);
        wanted.push_back(place + text.substr(at, end - at) + "]");
    }
    return wanted;
}

static std::string joined(const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &line : lines) text += (text.empty() ? "" : " | ") + line;
    return text;
}

struct outcome {
    int status;
    std::string log, output;
};

static outcome run_apart(const corpus_case *c) {
    char log[] = "/tmp/corpus-log-XXXXXX", output[] = "/tmp/corpus-out-XXXXXX";
    int log_file = mkstemp(log), output_file = mkstemp(output);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("HOSTCUDA_LOG", log, 1);
        dup2(output_file, 1);
        dup2(output_file, 2);
        c->run();
        exit(0); // not _exit: leaks are reported at the end
    }
    outcome o = {};
    waitpid(child, &o.status, 0);
    o.log = read_file(log);
    o.output = read_file(output);
    close(log_file), close(output_file);
    unlink(log), unlink(output);
    return o;
}

// A comment `// likely NAME: words` of the case's file: the message has these words.
static bool has_advice(const corpus_case *c, const outcome &o) {
    std::string text = read_file(c->file), mark = std::string("// likely ") + c->name + ": ";
    size_t at = text.find(mark), from = at + mark.size();
    if (at == std::string::npos) return true;
    return o.output.find(text.substr(from, text.find('\n', at) - from)) != std::string::npos;
}

static bool judge(const corpus_case *c, const outcome &o) {
    if (is_right(c)) // silent: what a sanitizer prints without ending the process counts too
        return WIFEXITED(o.status) && WEXITSTATUS(o.status) == 0 && o.log.empty() &&
               o.output.find("runtime error:") == std::string::npos &&
               o.output.find("Sanitizer") == std::string::npos;
    std::vector<std::string> wanted = expected(c);
    size_t at = 0;
    for (const std::string &line : wanted) { // each message is one line of the log
        size_t end = o.log.find('\n', at), found = o.log.find(line, at);
        if (end == std::string::npos || found == std::string::npos || found > end) return false;
        at = end + 1;
    }
    return !wanted.empty() && at == o.log.size() && has_advice(c, o);
}

int main(int count, char **arguments) {
    int right = 0, wrong = 0, silent = 0, named = 0;
    for (const corpus_case *c = corpus; c; c = c->next) {
        if (count > 1 && strcmp(arguments[1], c->name) == 0) return c->run(), 0;
        if (count > 1) continue;
        if (is_blind(c)) {
            printf("wrong case %s (%s): not judged, this build cannot see it\n", c->name, c->file);
            continue;
        }
        outcome o = run_apart(c);
        bool good = judge(c, o);
        (is_right(c) ? right : wrong)++;
        if (good)
            (is_right(c) ? silent : named)++;
        else
            printf("%s case %s (%s): status %d\n  wanted: %s\n  log: %s  output: %s\n",
                   is_right(c) ? "right" : "wrong", c->name, c->file, o.status,
                   is_right(c) ? "silence" : joined(expected(c)).c_str(), o.log.c_str(),
                   o.output.c_str());
    }
    if (count > 1) return fprintf(stderr, "no case %s\n", arguments[1]), 2;
    printf("corpus: %d of %d right kernels silent, %d of %d wrong ones named\n", silent, right,
           named, wrong);
    return right > 0 && wrong > 0 && silent == right && named == wrong ? 0 : 1;
}
