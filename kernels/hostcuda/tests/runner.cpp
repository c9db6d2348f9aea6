// runner.cpp: runs every case of the corpus in a process of its own and compares what was reported.
//
// Prints how many right kernels were silent and how many wrong ones were named, kind and line both.
// Exit status 0 only if all were. `corpus NAME` runs one case here, for a debugger.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

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

// What the case's file says beside the mistake: "FILE:LINE: hostcuda [KIND]", or "" without a mark.
static std::string expected(const corpus_case *c) {
    std::string text = read_file(c->file), mark = std::string("// wrong ") + c->name + ": ";
    size_t at = text.find(mark);
    if (at == std::string::npos) return "";
    int line = 1;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    at += mark.size();
    size_t end = text.find('\n', at);
    const char *base = strrchr(c->file, '/');
    return std::string(base ? base + 1 : c->file) + ":" + std::to_string(line) + ": hostcuda [" +
           text.substr(at, end - at) + "]";
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
        exit(0); // not _exit: leaks are told at the end
    }
    outcome o = {};
    waitpid(child, &o.status, 0);
    o.log = read_file(log);
    o.output = read_file(output);
    close(log_file), close(output_file);
    unlink(log), unlink(output);
    return o;
}

static bool judge(const corpus_case *c, const outcome &o) {
    if (c->right) return WIFEXITED(o.status) && WEXITSTATUS(o.status) == 0 && o.log.empty();
    std::string wanted = expected(c);
    if (wanted.empty()) return false;
    size_t lines = 0;
    for (char ch : o.log) lines += ch == '\n';
    return lines == 1 && o.log.find(wanted) != std::string::npos;
}

int main(int count, char **arguments) {
    int right = 0, wrong = 0, silent = 0, named = 0;
    for (const corpus_case *c = corpus; c; c = c->next) {
        if (count > 1 && strcmp(arguments[1], c->name) == 0) return c->run(), 0;
        if (count > 1) continue;
        outcome o = run_apart(c);
        bool good = judge(c, o);
        (c->right ? right : wrong)++;
        if (good)
            (c->right ? silent : named)++;
        else
            printf("%s case %s (%s): status %d\n  wanted: %s\n  log: %s  output: %s\n",
                   c->right ? "right" : "wrong", c->name, c->file, o.status,
                   c->right ? "silence" : expected(c).c_str(), o.log.c_str(), o.output.c_str());
    }
    if (count > 1) return fprintf(stderr, "no case %s\n", arguments[1]), 2;
    printf("corpus: %d of %d right kernels silent, %d of %d wrong ones named\n", silent, right,
           named, wrong);
    return right > 0 && wrong > 0 && silent == right && named == wrong ? 0 : 1;
}
