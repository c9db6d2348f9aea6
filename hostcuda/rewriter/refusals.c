/* refusals.c: what hostcuda does not support is named here, with its line and a way out. */
#define _GNU_SOURCE
#include "rewriter.h"

#include <stdlib.h>
#include <string.h>

typedef struct refusal {
    const char *name; /* a trailing * matches any ending */
    const char *what, *instead;
} refusal;

static const char use_arrays[] = "read the array through a pointer";
static const char use_two_launches[] = "end the kernel and launch a second one: a launch boundary "
                                       "is the barrier between blocks";
static const char use_plain_c[] = "write plain C";
static const char use_float[] = "use float";
static const char use_other_nodes[] = "nodes may be kernels, copies, memsets, host functions and "
                                      "graphs; or capture the calls of a stream";
static const char use_malloc[] = "call cudaMalloc before the graph is launched";
static const char use_copies[] = "copy by memcpy_async or by hand";
static const char use_wmma[] = "use nvcuda::wmma (mma.h)";
static const char use_buffers[] = "copy the buffer to the host and draw from there";
static const char use_update[] = "build the graph anew and call cudaGraphExecUpdate";

/* Of these and of the headers the first that matches; one without words is not refused. */
static const refusal names[] = {
    {"texture", "a texture", use_arrays},
    {"tex1DL*", "a layered texture or one of several levels", use_arrays},
    {"tex1DG*", "a texture of several levels", use_arrays},
    {"tex2DL*", "a layered texture or one of several levels", use_arrays},
    {"tex2DG*", "a texture of several levels", use_arrays},
    {"tex2Dgather*", "gathering from a texture", use_arrays},
    {"tex3D*", "a texture of three dimensions", use_arrays},
    {"texCubemap*", "a texture of a cube", use_arrays},
    {"cudaBindTexture*", "a texture", use_arrays},
    {"surf1D*", "a surface", use_arrays},
    {"surf2D*", "a surface", use_arrays},
    {"surf3D*", "a surface", use_arrays},
    {"cudaSurfaceObject_t", "a surface", use_arrays},
    {"cudaCreateSurfaceObject", "a surface", use_arrays},
    {"cudaMalloc3DArray", "an array of three dimensions or layers", use_arrays},
    {"cudaMallocMipmappedArray", "a texture of several levels", use_arrays},
    {"this_multi_grid", "a group of several devices", use_two_launches},
    {"block_tile_memory", "a tile of more threads than a warp", "use tiles of 32"},
    {"this_cluster", "a thread-block cluster", use_two_launches},
    {"cudaLaunchCooperativeKernelMultiDevice", "a launch on several devices", use_two_launches},
    {"__cluster_dims__", "a thread-block cluster", use_two_launches},
    {"cublasLtMatmul*", "a product by cuBLASLt", "call cublasGemmEx"},
    {"cublasLtMatrix*", "a product by cuBLASLt", "call cublasGemmEx"},
    {"cudaGraphAddEmptyNode", NULL, NULL},
    {"cudaGraphAddKernelNode", NULL, NULL},
    {"cudaGraphAddMemcpyNode", NULL, NULL},
    {"cudaGraphAddMemcpyNode1D", NULL, NULL},
    {"cudaGraphAddMemsetNode", NULL, NULL},
    {"cudaGraphAddHostNode", NULL, NULL},
    {"cudaGraphAddChildGraphNode", NULL, NULL},
    {"cudaGraphAddMemAllocNode", "memory that a graph allocates", use_malloc},
    {"cudaGraphAddMemFreeNode", "memory that a graph frees", use_malloc},
    {"cudaGraphConditional*", "a condition in a graph", use_other_nodes},
    {"cudaGraphAdd*", "a node of a graph of this kind", use_other_nodes},
    {"cudaGraphExecMemcpyNode*", "changing a copy in a graph", use_update},
    {"cudaGraphExecMemsetNode*", "changing a memset in a graph", use_update},
    {"cudaGraphExecHostNode*", "changing a host function in a graph", use_update},
    {"CUtensorMap*", "a copy by a tensor map (TMA)", use_copies},
    {"cuTensorMapEncode*", "a copy by a tensor map (TMA)", use_copies},
    {"cp_async_bulk*", "a bulk copy (TMA)", use_copies},
    {"cudaGraphics*", "graphics", use_buffers},
    {"cudaGL*", "graphics", use_buffers},
    {"cudaDeviceEnablePeerAccess", "a second device", "hostcuda has one device"},
};

static const refusal headers[] = {
    {"cuda_fp8*", "8-bit floating point", use_float},
    {"cuda/barrier", NULL, NULL},
    {"cuda/atomic", NULL, NULL},
    {"cuda/pipeline", NULL, NULL},
    {"cuda/std/type_traits", NULL, NULL},
    {"cuda/*", "libcu++", "use the plain CUDA functions"},
    {"cub/*", "CUB", "write the reduction or scan yourself"},
    {"thrust/*", "Thrust", "write the kernel yourself"},
    {"curand*", "cuRAND", "use a counter-based generator of your own"},
    {"cudaGL.h", "graphics", use_buffers},
    {"cuda_gl_interop*", "graphics", use_buffers},
    {"cuda_egl_interop*", "graphics", use_buffers},
    {"cuda_vdpau_interop*", "graphics", use_buffers},
    {"cuda_d3d*", "graphics", use_buffers},
    {"cudnn*", "cuDNN", "write the operation yourself"},
    {"texture_*", "a texture", use_arrays},
};

static bool matches(const char *pattern, const char *text, size_t length) {
    size_t n = strlen(pattern);
    if (pattern[n - 1] == '*') return length >= n - 1 && strncmp(pattern, text, n - 1) == 0;
    return length == n && strncmp(pattern, text, n) == 0;
}

/* What is well known by a name of its own is called by it. */
static void refuse_ptx(source *s, size_t i) {
    static const refusal well_known[] = {
        {"wgmma.", "wgmma (tensor cores of sm_90)", use_wmma},
        {"tcgen05.", "tcgen05 (tensor cores of sm_100)", use_wmma},
        {"mma.", "mma in PTX (tensor cores)", use_wmma},
        {"cp.async.bulk", "a bulk copy (TMA)", use_copies},
    };
    size_t last = i;
    while (last + 1 < s->count && !token_is(s, last, ";")) last++;
    size_t start = s->tokens[i].start, length = s->tokens[last].start - start;
    for (size_t k = 0; k < sizeof well_known / sizeof *well_known; k++) {
        const char *name = well_known[k].name;
        if (memmem(s->text + start, length, name, strlen(name))) {
            refuse(s, i, well_known[k].what, well_known[k].instead);
            return;
        }
    }
    refuse(s, i, "this inline PTX (asm)", use_plain_c);
}

static void refuse_name(source *s, size_t i) {
    const token *t = &s->tokens[i];
    const char *text = s->text + t->start;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!matches(names[k].name, text, t->length)) continue;
        if (!names[k].what) return;
        bool is_type = strcmp(names[k].name, "texture") != 0 || token_is(s, i + 1, "<");
        if (is_type) refuse(s, i, names[k].what, names[k].instead);
        return;
    }
    bool assembler = token_is(s, i, "asm") || token_is(s, i, "__asm__") || token_is(s, i, "__asm");
    if (assembler && t->in_device && !rewrite_ptx(s, i)) refuse_ptx(s, i);
}

static void refuse_header(source *s, size_t i) {
    const token *t = &s->tokens[i];
    const char *text = s->text + t->start + 1;
    text += strspn(text, " \t");
    if (strncmp(text, "include", 7) != 0) return;
    text += 7 + strspn(text + 7, " \t");
    if (*text != '<' && *text != '"') return;
    size_t length = strcspn(text + 1, ">\"");
    for (size_t k = 0; k < sizeof headers / sizeof *headers; k++) {
        if (!matches(headers[k].name, text + 1, length)) continue;
        if (headers[k].what) refuse(s, i, headers[k].what, headers[k].instead);
        return;
    }
}

/* Names are refused once a line: a type and its constructor there make one message. */
void refuse_unsupported(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->tokens[i].kind == TOKEN_DIRECTIVE) refuse_header(s, i);
        if (s->tokens[i].kind == TOKEN_NAME) refuse_name(s, i);
    }
}

static bool is_directive(const source *s, size_t i, const char *word) {
    const token *t = &s->tokens[i];
    if (t->kind != TOKEN_DIRECTIVE) return false;
    const char *text = s->text + t->start + 1;
    text += strspn(text, " \t");
    return strncmp(text, word, strlen(word)) == 0;
}

/* The #endif of the #if at `i`, if what lies between is device code alone and there is no second
 * branch: whatever asks for an architecture there asks for the device's. Else i. */
static size_t device_branch(const source *s, size_t i) {
    bool device = false;
    int depth = 0;
    for (size_t k = i; k < s->count; k++) {
        if (is_directive(s, k, "if")) depth++;
        if (depth == 1 && (is_directive(s, k, "el"))) return i;
        if (is_directive(s, k, "endif") && --depth == 0) return device ? k : i;
        if (token_is(s, k, "__host__")) return i;
        device |= token_is(s, k, "__device__") || token_is(s, k, "__global__");
    }
    return i;
}

/* nvcc compiles each file twice and defines __CUDA_ARCH__ for the device. Here is one pass, without
 * it; in device code the name is HC_CUDA_ARCH, which is always defined. What shall run on both
 * would need both. */
void rewrite_architecture(source *s) {
    static const char name[] = "__CUDA_ARCH__";
    enum { LENGTH = sizeof name - 1 };
    for (size_t i = 0; i < s->count; i++) {
        const token *t = &s->tokens[i];
        bool device = t->in_device || (is_directive(s, i, "if") && device_branch(s, i) > i);
        if (!device || (t->kind != TOKEN_DIRECTIVE && t->kind != TOKEN_NAME)) continue;
        for (size_t at = t->start; at + LENGTH <= t->start + t->length; at++) {
            if (strncmp(s->text + at, name, LENGTH) != 0) continue;
            if (t->in_both) {
                refuse(s, i, "__CUDA_ARCH__ in a __host__ __device__ function",
                       "write two functions, or code that serves both");
                break;
            }
            edit_replace(s, at, LENGTH, "HC_CUDA_ARCH");
        }
    }
}

/* A kernel's clock() counts cycles of the device, the C library's counts something else. */
static bool is_device_clock(const source *s, size_t i) {
    const token *t = &s->tokens[i];
    if (!t->in_device || t->in_both || !token_is(s, i, "clock")) return false;
    if (!token_is(s, i + 1, "(") || !token_is(s, i + 2, ")")) return false;
    bool named = token_is(s, i - 1, ".") || token_is(s, i - 1, "->") || token_is(s, i - 1, "::") ||
                 s->tokens[i - 1].kind == TOKEN_NAME;
    return !named || token_is(s, i - 1, "return");
}

/* Names that CUDA and the C++ library share. (__noinline__ can be no macro: the library's headers
 * write __attribute__((__noinline__)).) */
void rewrite_names(source *s) {
    for (size_t i = 0; i < s->count; i++) {
        const char *name = NULL;
        if (is_device_clock(s, i)) name = "hc_clock";
        if (token_is(s, i, "__noinline__") && !(i > 0 && token_is(s, i - 1, "(")))
            name = "HC_NOINLINE";
        if (name) edit_replace(s, s->tokens[i].start, s->tokens[i].length, name);
    }
}
