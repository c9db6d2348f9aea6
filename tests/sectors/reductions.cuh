// reductions.cuh: a long sum and sums of columns by the rungs of reduce, each as a case of
// sectors.cu, which includes this.

enum { SUM_OF = 1 << 18, ROWS_OF_SUMS = 1024, COLUMNS_OF_SUMS = 64 };

// (rungs have nowhere else to leave pieces of a sum)
static void reduce_by(const tl_backend &ops, bool columns) {
    tl_ctx with_scratch = {};
    with_scratch.step = (tl_step *)zeros<char>(TL_STEP_BYTES + TL_WORKSPACE_BYTES);
    if (columns)
        ops.sum_rows(&with_scratch, zeros(COLUMNS_OF_SUMS), some(ROWS_OF_SUMS * COLUMNS_OF_SUMS),
                     ROWS_OF_SUMS, COLUMNS_OF_SUMS);
    else
        ops.sum(&with_scratch, zeros(1), some(SUM_OF), SUM_OF);
}

#define REDUCTION(number, idea, what, columns, kernels)                                            \
    {                                                                                              \
        "reduce:" #number " " what, kernels, [] {                                                  \
            tl_backend ops = {};                                                                   \
            tl_rung_reduce_##idea(&ops);                                                           \
            reduce_by(ops, columns);                                                               \
        }                                                                                          \
    }
#define REDUCTIONS(number, idea, kernels)                                                          \
    REDUCTION(number, idea, "sum", false, kernels),                                                \
        REDUCTION(number, idea, "columns", true, kernels)
static const sectors_case reductions[] = {
    REDUCTIONS(1, naive, 1),   REDUCTIONS(2, tree, 1),    REDUCTIONS(3, shuffle, 1),
    REDUCTIONS(4, columns, 1), REDUCTIONS(5, vectors, 1), REDUCTIONS(6, blocks, 2),
};
