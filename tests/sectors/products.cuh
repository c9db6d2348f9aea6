// products.cuh: a square matrix product by the rungs of gemm, by lab 1's and by two plain kernels,
// each as a case of sectors.cu, which includes this.

static int size_of_product;

static void multiply_by(void (*kernel)(float *, const float *, const float *, int, int, int)) {
    int n = size_of_product, elements = n * n;
    kernel<<<dim3(blocks_of(n, 16), blocks_of(n, 16)), dim3(16, 16)>>>(
        zeros<float>(elements), some<float>(elements), some<float>(elements), n, n, n);
}
static void multiply_by(decltype(tl_matmul) product) {
    tl_matmul_geom g = {};
    g.m = g.n = g.k = size_of_product;
    int elements = size_of_product * size_of_product;
    product(&ctx, zeros(elements), some(elements), some(elements), &g);
}

// (through the entry of a table, as programs call it)
#define RUNG(name, apply)                                                                          \
    {                                                                                              \
        name, 1, [] {                                                                              \
            tl_backend ops = {};                                                                   \
            apply(&ops);                                                                           \
            multiply_by(*ops.gemm);                                                                \
        }                                                                                          \
    }
static const sectors_case products[] = {
    RUNG("gemm:1", tl_rung_gemm_naive),
    RUNG("gemm:2", tl_rung_gemm_coalesced),
    RUNG("gemm:3", tl_rung_gemm_tile),
    RUNG("gemm:4", tl_rung_gemm_registers),
    RUNG("gemm:5", tl_rung_gemm_vectors),
    RUNG("gemm:6", tl_rung_gemm_warp_tile),
    RUNG("gemm:7", tl_rung_gemm_tensor_tf32),
    RUNG("gemm:8", tl_rung_gemm_tensor_bf16),
    RUNG("gemm:11", tl_rung_gemm_tensor_tf32x3),
    RUNG("gemm:12", tl_rung_gemm_tensor_fp16),
    {"matmul", 1, [] { multiply_by(matmul::tl_matmul); }},
    {"multiply_plainly", 1, [] { multiply_by(multiply_plainly); }},
    {"multiply_tiles", 1, [] { multiply_by(multiply_tiles); }},
};
