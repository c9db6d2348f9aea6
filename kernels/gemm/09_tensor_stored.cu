/* 09_tensor_stored.cu: rungs 9 and 10 of gemm: of operands that are stored in TF32 or in bfloat16.
 *
 * Idea: nobody is asked to copy, and nobody to load a fragment. The tensor memory accelerator of
 *   compute capability 9.0 brings whole boxes of a matrix, to two blocks at a time, and a warpgroup
 *   multiplies 64 x 256 from where they lie. A block makes 128 x 256 sums.
 * Before: in rungs 7 and 8 every thread works out addresses, and each warp loads fragments; tiles
 *   of 128 x 128 floats ask for more than the second-level cache gives.
 * Bound: tensor cores.
 * Shapes: lines of whole pieces of 16 bytes, which is what the accelerator can read; in TF32 not
 *   both operands across k. TL_ENOTIMPL for others.
 *
 * They fill stored_gemm (tl/backend.h), as rung 0 does: operands are stored rounded. */
#include "kernels/gemm/09_tensor_stored.h"

#if !defined(TL_REAL_DOUBLE) && !defined(HOSTCUDA)
#ifdef HAS_TENSOR_MAPS

typedef struct stored_operand {
    const void *data;
    int lines, k; /* across k; along it */
    bool across;  /* stored [k][lines], else [lines][k] */
} stored_operand;

static size_t bytes_of(bool narrow) { return narrow ? 2 : sizeof(float); }
static int stored_length(const stored_operand *o) { return o->across ? o->lines : o->k; }

static bool in_pieces(const stored_operand *o, bool narrow) {
    return (size_t)stored_length(o) * bytes_of(narrow) % 16 == 0 && rung_aligned(o->data, 16);
}

/* The driver's function, which no library but libcuda has. */
static tl_status find_encoder(decltype(&cuTensorMapEncodeTiled) *encode) {
    void *found = NULL;
    cudaDriverEntryPointQueryResult how;
    TL_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                             cudaEnableDefault, &how));
    TL_NEED(found && how == cudaDriverEntryPointSuccess, TL_EDEVICE,
            "gemm rung 9: this driver has no cuTensorMapEncodeTiled; it needs CUDA 12.0 or newer");
    *encode = (decltype(&cuTensorMapEncodeTiled))found;
    return TL_OK;
}

/* Boxes of 128 bytes by `lines`, or across by as many k as 128 bytes hold of numbers. */
static tl_status describe(CUtensorMap *map, const stored_operand *o, bool narrow, int lines) {
    decltype(&cuTensorMapEncodeTiled) encode = NULL;
    TL_TRY(find_encoder(&encode));
    cuuint32_t depth = (cuuint32_t)(STORED_SLICE / bytes_of(narrow));
    cuuint64_t length = (cuuint64_t)stored_length(o);
    cuuint64_t size[2] = {length, (cuuint64_t)(o->across ? o->k : o->lines)};
    cuuint64_t pitch[1] = {length * bytes_of(narrow)};
    cuuint32_t box[2] = {depth, o->across ? depth : (cuuint32_t)lines}, each[2] = {1, 1};
    CUresult result =
        encode(map, narrow ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
               (void *)o->data, size, pitch, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS
               ? TL_OK
               : TL_FAIL(TL_EDEVICE, "gemm rung 9: cuTensorMapEncodeTiled failed: error %d",
                         (int)result);
}

static tl_status stored_gemm(tl_ctx *ctx, tl_real *C, const void *A, const void *B,
                             const tl_matmul_geom *g, tl_precision precision) {
    TL_NEED(ctx && C && A && B && g, TL_EINVAL, "gemm rung 9: ctx, C, A, B or g is NULL");
    TL_TRY(tl_matmul_check(g));
    bool narrow = precision == TL_BF16;
    stored_operand a = {A, g->m, g->k, g->trans_a != 0}, b = {B, g->n, g->k, g->trans_b == 0};
    bool swapped = !narrow && b.across; /* only x may run across k in TF32 */
    const stored_operand *x = swapped ? &b : &a, *y = swapped ? &a : &b;
    TL_NEED(in_pieces(&a, narrow) && in_pieces(&b, narrow) && (narrow || !y->across), TL_ENOTIMPL,
            "gemm rung 9 takes lines of whole 16 bytes, in TF32 not both across k");
    stored_job job = {C, x->lines, y->lines, g->k, (size_t)g->n, 1, g->accumulate != 0, false};
    if (swapped) job.x_step = 1, job.y_step = (size_t)g->n;
    job.pairs = !swapped && g->n % 2 == 0 && rung_aligned(C, 2 * sizeof *C);
    CUtensorMap of_x, of_y;
    TL_TRY(describe(&of_x, x, narrow, STORED_X_BOX));
    TL_TRY(describe(&of_y, y, narrow, STORED_Y_BOX));
    return tl_gemm_stored_tiles(ctx, &of_x, &of_y, &job,
                                stored_order{narrow, x->across, y->across});
}

#else
static tl_status stored_gemm(tl_ctx *, tl_real *, const void *, const void *,
                             const tl_matmul_geom *, tl_precision) {
    return TL_FAIL(TL_ENOTIMPL, "gemm rung 9: this plug-in was built by an nvcc older than 12.5, "
                                "which has no tensor maps; use a newer one, or gemm:8");
}
#endif

extern "C" void tl_rung_gemm_stored_tf32(tl_backend *ops) { ops->stored_gemm = stored_gemm; }
extern "C" void tl_rung_gemm_stored_bf16(tl_backend *ops) { ops->stored_gemm = stored_gemm; }
#endif
