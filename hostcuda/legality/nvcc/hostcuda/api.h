/* hostcuda/api.h: for nvcc the runtime API is its own. */
#include <cuda_runtime_api.h>
