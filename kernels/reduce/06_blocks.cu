/* 06_blocks.cu: rung 6 of reduce: many blocks for one sum, in two launches.
 *
 * Idea: the terms of each sum are cut into pieces. The first launch has a block for each piece and
 *   leaves its sum in scratch, as [pieces, kept]; the second adds them in the order of the pieces,
 *   which is sum_rows again: rung 5 does it.
 * Before: as many blocks as there are sums, and tl_sum asks for one. Now up to BLOCKS of them.
 * Same bits: where pieces begin follows from the geometry alone, not from the GPU at hand. One
 *   launch would do if the last block to finish added the pieces, in their order; who is last is
 *   told by an atomic count of blocks (of whole numbers, which is exact), and somebody has to
 *   set that to zero. A second launch takes about 3 us and needs neither.
 * Scratch: that of the context (tl_workspace), since a sum has no argument for any.
 * Bound: memory: each number is read once, by a GPU that is full.
 * Shapes: all. Sums of few terms, and so many sums that a GPU is full, are rung 5's. */
#include "kernels/reduce/05_vectors.h"

enum {
    BLOCKS = 1024,       /* most blocks of the first launch that pieces are made for */
    LEAST_ROW = 1 << 13, /* terms that are worth a block: 16 a thread ... */
    LEAST_COLUMN = 256,  /* ... and in a column as many */
};

/* Pieces are `length` images long where there are several, else as many neighbours. */
typedef struct cut {
    size_t length, pieces;
    bool images;
} cut;

static cut cut_of(const sums *s) {
    size_t columns = sums_are_columns(s), terms = sums_terms(s);
    size_t blocks = columns ? (s->kept - 1) / WARP + 1 : s->kept;
    size_t least = columns ? LEAST_COLUMN : LEAST_ROW;
    size_t most = blocks < BLOCKS ? BLOCKS / blocks : 1;
    if (most > terms / least) most = terms / least > 0 ? terms / least : 1;
    cut c = {0, 1, s->outer > 1};
    size_t all = c.images ? s->outer : s->inner;
    c.length = (all - 1) / most + 1;
    if (!c.images) c.length = (c.length + GROUP - 1) / GROUP * GROUP;
    c.pieces = (all - 1) / c.length + 1;
    return c;
}

/* Piece p of the sums; of sum k alone where neighbours are cut, which is then number 0. */
static __device__ sums piece_of(const sums &s, const cut &c, size_t p, size_t *k) {
    sums part = s;
    size_t first = p * c.length, all = c.images ? s.outer : s.inner;
    size_t length = all - first < c.length ? all - first : c.length;
    if (c.images) {
        part.x += first * s.kept * s.inner;
        part.outer = length;
    } else {
        part.x += *k * s.inner + first;
        part.kept = 1;
        part.inner = length;
        *k = 0;
    }
    return part;
}

template <int NEAR, int V> static __global__ void add_pieces(tl_real *partial, sums s, cut c) {
    size_t k = blockIdx.x, at = blockIdx.y * s.kept + k;
    sums part = piece_of(s, c, blockIdx.y, &k);
    tl_real sum = block_sum(add_share<NEAR, V>(part, k, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) partial[at] = sum;
}

/* (columns that are neighbours are cut by images alone) */
static __global__ void add_column_pieces(tl_real *partial, sums s, cut c) {
    size_t k = (size_t)blockIdx.x * WARP + threadIdx.x, at = blockIdx.y * s.kept + k;
    tl_real sum;
    if (add_column(piece_of(s, c, blockIdx.y, &k), k, &sum)) partial[at] = sum;
}

static tl_status launch(tl_ctx *ctx, const sums *s) {
    const cut c = cut_of(s);
    tl_real *partial = (tl_real *)tl_workspace(ctx);
    bool no_room = c.pieces > TL_WORKSPACE_BYTES / sizeof(tl_real) / s->kept;
    if (c.pieces == 1 || no_room || (sums_are_columns(s) && !c.images))
        return tl_rung_reduce_vectors_launch(ctx, s);
    if (sums_are_columns(s)) {
        dim3 blocks((unsigned)((s->kept - 1) / WARP + 1), (unsigned)c.pieces);
        add_column_pieces<<<blocks, dim3(WARP, COLUMN_LANES), 0, tl_stream(ctx)>>>(partial, *s, c);
    } else {
        bool fours = sums_group(s) == GROUP;
        auto singly = fours ? add_pieces<GROUP, 1> : add_pieces<1, 1>;
        auto kernel =
            fours && rung_aligned(s->x, sizeof(pack<GROUP>)) ? add_pieces<GROUP, GROUP> : singly;
        kernel<<<dim3((unsigned)s->kept, (unsigned)c.pieces), ROW_MOST, 0, tl_stream(ctx)>>>(
            partial, *s, c);
    }
    TL_LAUNCHED();
    const sums rest = sums_of(s->y, partial, c.pieces, s->kept, 1, s->add);
    return tl_rung_reduce_vectors_launch(ctx, &rest);
}

SUMS_ENTRIES(tl_rung_reduce_blocks, launch)
