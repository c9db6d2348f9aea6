/* cublas_v2.h: hostcuda's part of cuBLAS, declared for nvcc where cuBLAS is not installed.
 * legality.sh names this folder behind all others: a cuBLAS that is there goes first. */
#ifndef HOSTCUDA_LEGALITY_CUBLAS_H
#define HOSTCUDA_LEGALITY_CUBLAS_H

#include "../../include/hostcuda/blas.h"

#endif
