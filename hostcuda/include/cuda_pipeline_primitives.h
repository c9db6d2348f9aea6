/* cuda_pipeline_primitives.h: a CUDA header's name for what stands beside it. */
#ifndef HOSTCUDA_CUDA_PIPELINE_PRIMITIVES_H
#define HOSTCUDA_CUDA_PIPELINE_PRIMITIVES_H
#include "cuda_pipeline.h"
#endif
