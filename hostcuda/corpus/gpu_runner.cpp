// gpu_runner.cpp: the corpus on a GPU. nvcc builds the same .cu files; `gpu-corpus NAME` runs one
// case in this process and tells on its last line which error of CUDA the case met.
//
// Exit status 0: every EXPECT held; 3: one did not, its text is on stderr; 2: no such case. What
// the case read back goes to the file that CORPUS_RESULTS names.
#include "cases.h"
#include "results.h"

#include <cstring>
#include <unistd.h>

corpus_case *corpus;
static cudaError_t first_error = cudaSuccess;

// The parentheses keep the macros of cases.h away.
cudaError_t corpus_error_taken(cudaError_t error) {
    if (first_error == cudaSuccess) first_error = error;
    return error;
}
// A case resets the device so that hostcuda forgets its buffers; here that would hide an error.
cudaError_t corpus_reset() { return corpus_error_taken(cudaDeviceSynchronize()); }

static void tell() {
    corpus_reset();
    corpus_error_taken((cudaGetLastError)());
    printf("\nended: %s\n", cudaGetErrorName(first_error));
    fflush(stdout);
}

void corpus_failed(const char *file, int line, const char *text) {
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
    tell();
    _exit(3);
}

int main(int count, char **arguments) {
    for (const corpus_case *c = corpus; c && count == 2; c = c->next)
        if (strcmp(arguments[1], c->name) == 0) {
            c->run();
            tell();
            (cudaDeviceReset)(); // memory that is still there is a leak to compute-sanitizer
            return 0;
        }
    fprintf(stderr, "usage: gpu-corpus NAME; no case %s\n", count == 2 ? arguments[1] : "is named");
    return 2;
}
