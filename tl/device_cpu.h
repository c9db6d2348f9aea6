/* device_cpu.h: the cpu's memory functions and dispatch table, for device.c. */
#ifndef GRADLAB_DEVICE_CPU_H
#define GRADLAB_DEVICE_CPU_H

#include "tl/backend.h"

/* Aligned host memory. */
extern const tl_alloc_source cpu_memory;

/* The plain path of every operation on the cpu. */
extern const tl_backend cpu_plain;

#endif
