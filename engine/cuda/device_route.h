/* SPDX-License-Identifier: MIT
 *
 * Rows of a route table that stand for a kernel: one of backend cuda and one of backend simt, from
 * one launch function. C.
 *
 *   <op>_routes.h    DEVICE_ROUTE_DECLARE(rmsnorm_route_row)
 *   <op>_routes.c    DEVICE_ROUTE("rmsnorm.row", rmsnorm_route_row, .profile = ..., ...),   in the
 *                    table, under #if defined(ASSAY_HAVE_DEVICE_ROUTES)
 *   <op>_cuda.cu     DEVICE_ROUTE_RUN(rmsnorm_route_row, &assay_op_rmsnorm, row_launch)
 */
#ifndef ASSAY_CUDA_DEVICE_ROUTE_H
#define ASSAY_CUDA_DEVICE_ROUTE_H

#include <string.h>

#include <assay/route.h>

#include "cuda/simt_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ASSAY_HAVE_SIMT) || defined(ASSAY_HAVE_CUDA)
#define ASSAY_HAVE_DEVICE_ROUTES
#endif

#define DEVICE_ROUTE_DECLARE(run)                                                    \
    size_t run##_shared_simt(const void *args);                                      \
    size_t run##_shared_cuda(const void *args);                                      \
    assay_status run##_simt(assay_context *context, const void *args, void *memory); \
    assay_status run##_cuda(assay_context *context, const void *args, void *memory); \
    assay_status run##_launch_simt(const void *args, struct simt_launch *launch);    \
    assay_status run##_launch_cuda(const void *args, struct simt_launch *launch);

#if defined(ASSAY_HAVE_SIMT)
#define DEVICE_ROUTE_SIMT(route, function, ...)                               \
    {                                                                         \
        .name = route ".simt", .backend = ASSAY_SIMT, .run = function##_simt, \
        .shared_bytes = function##_shared_simt, __VA_ARGS__                   \
    }
#endif
#if defined(ASSAY_HAVE_CUDA)
#define DEVICE_ROUTE_CUDA(route, function, ...)                               \
    {                                                                         \
        .name = route ".cuda", .backend = ASSAY_CUDA, .run = function##_cuda, \
        .shared_bytes = function##_shared_cuda, __VA_ARGS__                   \
    }
#endif
#if defined(ASSAY_HAVE_SIMT) && defined(ASSAY_HAVE_CUDA)
#define DEVICE_ROUTE(...) DEVICE_ROUTE_SIMT(__VA_ARGS__), DEVICE_ROUTE_CUDA(__VA_ARGS__)
#elif defined(ASSAY_HAVE_SIMT)
#define DEVICE_ROUTE(...) DEVICE_ROUTE_SIMT(__VA_ARGS__)
#elif defined(ASSAY_HAVE_CUDA)
#define DEVICE_ROUTE(...) DEVICE_ROUTE_CUDA(__VA_ARGS__)
#endif

typedef assay_status device_launch(const void *args, struct simt_launch *launch);

/* Calls launch(args, ...) with the workspace that the route asked for. On the executor a kernel may
 * touch what op->arguments says and the workspace; a fault becomes the context's error record. */
assay_status simt_route_run(assay_context *context, const struct assay_op *op,
                            device_launch *launch, const void *args, void *workspace);
/* On the context's device and stream; does not wait for the kernels. */
assay_status cuda_route_run(assay_context *context, const struct assay_op *op,
                            device_launch *launch, const void *args, void *workspace);

/* What the call's launches measure. */
static inline size_t device_shared_bytes(device_launch *launch, const void *args)
{
    size_t most = 0;
    struct simt_launch l;
    memset(&l, 0, sizeof l);
    l.measure = &most;
    return launch(args, &l) == ASSAY_OK ? most : SIZE_MAX;
}

/* The launch function alone, for programs without contexts. */
#if defined(ASSAY_LAUNCH_CUDA) || defined(__CUDACC__)
#define DEVICE_LAUNCH(run) run##_launch_cuda
#else
#define DEVICE_LAUNCH(run) run##_launch_simt
#endif

#define DEVICE_LAUNCH_DEFINE(run, launch)                                               \
    extern "C" assay_status DEVICE_LAUNCH(run)(const void *args, struct simt_launch *l) \
    {                                                                                   \
        return launch(args, l);                                                         \
    }

#if defined(ASSAY_LAUNCH_CUDA)
#define DEVICE_ROUTE_RUN(run, op, launch) DEVICE_LAUNCH_DEFINE(run, launch)
#elif defined(__CUDACC__)
#define DEVICE_ROUTE_RUN(run, op, launch)                                                         \
    extern "C" assay_status run##_cuda(assay_context *context, const void *args, void *workspace) \
    {                                                                                             \
        return cuda_route_run(context, op, launch, args, workspace);                              \
    }                                                                                             \
    extern "C" size_t run##_shared_cuda(const void *args)                                         \
    {                                                                                             \
        return device_shared_bytes(launch, args);                                                 \
    }
#else
#define DEVICE_ROUTE_RUN(run, op, launch)                                                         \
    extern "C" assay_status run##_simt(assay_context *context, const void *args, void *workspace) \
    {                                                                                             \
        return simt_route_run(context, op, launch, args, workspace);                              \
    }                                                                                             \
    extern "C" size_t run##_shared_simt(const void *args)                                         \
    {                                                                                             \
        return device_shared_bytes(launch, args);                                                 \
    }                                                                                             \
    DEVICE_LAUNCH_DEFINE(run, launch)
#endif

#ifdef __cplusplus
}
#endif
#endif
