/* SPDX-License-Identifier: MIT
 *
 * What the CUDA runtime does for a context. Private to the engine; without the backend only the
 * declarations exist and context.c calls none of them.
 */
#ifndef ASSAY_CUDA_CUDA_DEVICE_H
#define ASSAY_CUDA_CUDA_DEVICE_H

#include <assay/device.h>

/* A device, a stream of it and the handles that its routes share. */
struct cuda_device;

/* *shared_bytes: the shared memory that a block may have there. */
ASSAY_MUST_USE assay_status cuda_device_open(int index, struct cuda_device **device,
                                             size_t *shared_bytes, struct assay_error *error);
void cuda_device_close(struct cuda_device *device);
/* cudaMalloc; *memory is NULL on failure. */
ASSAY_MUST_USE assay_status cuda_device_alloc(struct cuda_device *device, size_t bytes,
                                              void **memory, struct assay_error *error);
/* Waits for the stream first: kernels under way may use the memory. */
void cuda_device_free(struct cuda_device *device, void *memory);
/* The device's cudaStream_t. */
void *cuda_device_stream(const struct cuda_device *device);
/* A library's handle that lives as long as the device record: NULL until one is kept. */
void *cuda_device_handle(const struct cuda_device *device);
void cuda_device_keep(struct cuda_device *device, void *handle, void (*destroy)(void *handle));
bool cuda_device_is_recording(const struct cuda_device *device);
ASSAY_MUST_USE assay_status cuda_device_fill(struct cuda_device *device, void *memory, int byte,
                                             size_t bytes, struct assay_error *error);

#endif
