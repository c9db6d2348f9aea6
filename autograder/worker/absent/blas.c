/* blas.c: stands for OpenBLAS in a worker whose task may not call it: so its product is nowhere in
 * the process. tl/device.c asks for one thread of it. */
#include <cblas.h>

void openblas_set_num_threads(int threads) { (void)threads; }
