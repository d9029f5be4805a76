/* SPDX-License-Identifier: MIT
 *
 * The context that every op call carries: backend, worker threads, workspace arena, error record,
 * an optional forced route, and route counters. One context serves one calling thread at a time.
 */
#ifndef ASSAY_CONTEXT_H
#define ASSAY_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_context assay_context;

enum assay_backend { ASSAY_CPU, ASSAY_CUDA, ASSAY_SIMT, ASSAY_NUM_BACKENDS };

/* Instruction sets of the cpu backend, in rising order. Each includes the ones before it. */
enum assay_isa { ASSAY_ISA_PORTABLE, ASSAY_ISA_AVX2, ASSAY_ISA_AVX512, ASSAY_NUM_ISAS };

struct assay_context_options {
    enum assay_backend backend;
    int num_threads;        /* calling thread included; 0: all processors this process may use */
    size_t workspace_bytes; /* arena for the ops; 0: grow on demand between calls */
    int device;             /* backend cuda: which, 0 .. assay_device_count() - 1 */
    enum assay_isa max_isa; /* routes above it are not taken; ASSAY_NUM_ISAS: what the CPU has */
};

/* Defaults: cpu, one thread, growing workspace, best instruction set. */
struct assay_context_options assay_context_defaults(void);

/* Creates a context. *context is NULL on failure; error may be NULL. */
ASSAY_MUST_USE assay_status assay_context_create(const struct assay_context_options *options,
                                                 assay_context **context,
                                                 struct assay_error *error);
/* Joins the worker threads and frees everything. NULL is fine. */
void assay_context_destroy(assay_context *context);

enum assay_backend assay_context_backend(const assay_context *context);
int assay_context_num_threads(const assay_context *context);
/* The best instruction set that routes of this context may use. */
enum assay_isa assay_context_isa(const assay_context *context);

/* The error record of the last failed call. */
const struct assay_error *assay_context_error(const assay_context *context);
void assay_context_clear_error(assay_context *context);

/* Every later call of the route's op must take this route or fail: ASSAY_E_ROUTE_UNKNOWN here
 * when no such route exists, ASSAY_E_ROUTE_REFUSED from the op when its predicate does not hold.
 * Other ops are not affected. NULL removes all forced routes. One forced route per op. */
ASSAY_MUST_USE assay_status assay_context_force_route(assay_context *context, const char *route);

/* How often the route ran in this context since creation or the last reset; 0 for unknown names. */
uint64_t assay_context_route_count(const assay_context *context, const char *route);
void assay_context_reset_counts(assay_context *context);

/* "cpu", "cuda", "simt" */
const char *assay_backend_name(enum assay_backend backend);
/* "portable", "avx2", "avx512" */
const char *assay_isa_name(enum assay_isa isa);
/* What this processor has. */
enum assay_isa assay_isa_detect(void);

#ifdef __cplusplus
}
#endif
#endif
