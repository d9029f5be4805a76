/* SPDX-License-Identifier: MIT
 *
 * The functions behind gdn_chunked's route table.
 */
#ifndef ASSAY_GDN_CHUNKED_ROUTES_H
#define ASSAY_GDN_CHUNKED_ROUTES_H

#include <assay/ops/gdn_chunked.h>

#include "cuda/device_route.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GDN_CHUNKED_MAX_CHUNK = 256,
    GDN_CHUNKED_LANES = 16,    /* widest vector: rows of the scratch matrices are multiples of it */
    GDN_CHUNKED_MAX_TILE = 64, /* widest column tile: four such vectors */
    GDN_CHUNKED_SUB = 16,      /* device: tokens that are substituted at a time */
};

/* Heads are dealt out to at most this many tasks, each with its own scratch memory. */
int64_t gdn_chunked_slots(const assay_context *context, const void *args);
/* Tokens of the longest chunk of the call, and that rounded up to whole vectors. */
int64_t gdn_chunked_longest(const void *args);
int64_t gdn_chunked_padded(int64_t count);

/* Workspace: slots times the bytes of one task's scratch memory. */
size_t gdn_chunked_scratch_bytes(const void *args);
size_t gdn_chunked_scratch_bytes_plain(const void *args);
size_t gdn_chunked_workspace(const assay_context *context, const void *args);
size_t gdn_chunked_workspace_plain(const assay_context *context, const void *args);

assay_status gdn_chunked_route_plain(assay_context *context, const void *args, void *workspace);
assay_status gdn_chunked_route_avx2(assay_context *context, const void *args, void *workspace);
assay_status gdn_chunked_route_avx512(assay_context *context, const void *args, void *workspace);

/* Device: one chunk of one head has two matrices of device_padded rows and columns and two rows
 * beside; a launch takes device_wave chunks of all heads. */
int64_t gdn_chunked_device_padded(const void *args);
int64_t gdn_chunked_device_floats(const void *args);
int64_t gdn_chunked_device_wave(const void *args);
size_t gdn_chunked_device_workspace(const assay_context *context, const void *args);

/* Device, tensor cores: dk, and tokens of the longest chunk; operands of one chunk and key head,
 * and of one chunk and value head; a pair of launches takes tensor_wave chunks of all heads. */
enum {
    GDN_TENSOR_DIM = 128,
    GDN_TENSOR_ROWS = 64,
    GDN_TENSOR_KEY_BYTES = 96 << 10,
    GDN_TENSOR_HEAD_BYTES = 41 << 9,
};
int64_t gdn_chunked_tensor_wave(const void *args);
size_t gdn_chunked_tensor_workspace(const assay_context *context, const void *args);

DEVICE_ROUTE_DECLARE(gdn_chunked_route_tensor)
DEVICE_ROUTE_DECLARE(gdn_chunked_route_state32)
DEVICE_ROUTE_DECLARE(gdn_chunked_route_state16)

#ifdef __cplusplus
}
#endif
#endif
