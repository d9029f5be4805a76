/* SPDX-License-Identifier: MIT
 *
 * Faulty routes, put in front of the real ones.
 */
#include "replay_mutants.h"

#include <stdio.h>

#include <assay/ops/add.h>
#include <assay/ops/add_rmsnorm.h>
#include <assay/ops/embedding.h>
#include <assay/ops/embedding_grouped.h>
#include <assay/ops/qk_norm_rope_append.h>

#include "replay_play.h"

enum { MAX_LAYERS = 8 };

static int64_t num_calls;
static void *old_k[MAX_LAYERS], *old_v[MAX_LAYERS];

/* The first route of the table that takes the call. */
static const struct assay_route *real(const struct assay_op *op, const void *args)
{
    for (int i = 0; i < op->num_routes; i++) {
        const struct assay_route *route = &op->routes[i];
        if (route->backend == ASSAY_CUDA && (route->accepts == NULL || route->accepts(args)))
            return route;
    }
    return NULL;
}

static size_t real_workspace(const struct assay_op *op, const assay_context *context,
                             const void *args)
{
    const struct assay_route *route = real(op, args);
    return route != NULL && route->workspace != NULL ? route->workspace(context, args) : 0;
}

static assay_status run_real(const struct assay_op *op, assay_context *context, const void *args,
                             void *workspace)
{
    const struct assay_route *route = real(op, args);
    return route == NULL ? ASSAY_E_NO_ROUTE : route->run(context, args, workspace);
}

static size_t append_workspace(const assay_context *context, const void *args)
{
    return real_workspace(&assay_op_qk_norm_rope_append, context, args);
}

static assay_status host_position(assay_context *context, const void *arguments, void *workspace)
{
    struct assay_qk_norm_rope_append_args args =
        *(const struct assay_qk_norm_rope_append_args *)arguments;
    args.start = play_position;
    args.start_at.data = NULL;
    return run_real(&assay_op_qk_norm_rope_append, context, &args, workspace);
}

/* Layers call in turn; tiny-hybrid has two with a cache. */
static assay_status stale_pool(assay_context *context, const void *arguments, void *workspace)
{
    enum { LAYERS = 2 };
    struct assay_qk_norm_rope_append_args args =
        *(const struct assay_qk_norm_rope_append_args *)arguments;
    const int64_t call = num_calls++;
    if (call < LAYERS) {
        old_k[call] = args.k_cache.data;
        old_v[call] = args.v_cache.data;
    }
    args.k_cache.data = old_k[call % LAYERS];
    args.v_cache.data = old_v[call % LAYERS];
    return run_real(&assay_op_qk_norm_rope_append, context, &args, workspace);
}

static size_t unwritten_bytes(const assay_context *context, const void *arguments)
{
    const struct assay_add_args *args = arguments;
    (void)context;
    return (size_t)assay_tensor_count(&args->y) * sizeof(float);
}

/* y = (a + b) + what the workspace happens to hold */
static assay_status unwritten_workspace(assay_context *context, const void *arguments,
                                        void *workspace)
{
    const struct assay_add_args *args = arguments;
    const assay_status status = run_real(&assay_op_add, context, args, NULL);
    if (status != ASSAY_OK)
        return status;
    struct assay_add_args again = {.a = args->y, .b = args->b, .y = args->y};
    again.b.data = workspace;
    return run_real(&assay_op_add, context, &again, NULL);
}

/* Row t of the second summand is taken from row t + 1: the last one from behind the block. */
static assay_status padded_row(assay_context *context, const void *arguments, void *workspace)
{
    struct assay_add_args args = *(const struct assay_add_args *)arguments;
    args.b.data = (float *)args.b.data + args.b.stride[0];
    return run_real(&assay_op_add, context, &args, workspace);
}

/* ids that are all 0 */
static size_t id_bytes(const assay_context *context, const void *arguments)
{
    const struct assay_embedding_args *args = arguments; /* both ops begin with ids */
    (void)context;
    return (size_t)args->ids.extent[0] * sizeof(int32_t);
}

/* One token: row 0 of a table that begins at its id, which the host knows while it records. Others
 * as they should be. */
static assay_status host_id(assay_context *context, const void *arguments, void *workspace)
{
    struct assay_embedding_args args = *(const struct assay_embedding_args *)arguments;
    if (args.ids.extent[0] == 1) {
        args.ids.data = workspace;
        args.table.data = assay_tensor_row(&args.table, play_id);
        const assay_status status = assay_buffer_fill(context, workspace, 0, sizeof(int32_t));
        if (status != ASSAY_OK)
            return status;
    }
    return run_real(&assay_op_embedding, context, &args, NULL);
}

static assay_status host_id_grouped(assay_context *context, const void *arguments, void *workspace)
{
    struct assay_embedding_grouped_args args =
        *(const struct assay_embedding_grouped_args *)arguments;
    if (args.ids.extent[0] == 1) {
        struct assay_tensor *planes[] = {&args.table.base, &args.table.high, &args.table.scales};
        args.ids.data = workspace;
        for (int i = 0; i < 3; i++)
            if (planes[i]->data != NULL)
                planes[i]->data = assay_tensor_row(planes[i], play_id);
        const assay_status status = assay_buffer_fill(context, workspace, 0, sizeof(int32_t));
        if (status != ASSAY_OK)
            return status;
    }
    return run_real(&assay_op_embedding_grouped, context, &args, NULL);
}

static size_t norm_workspace(const assay_context *context, const void *args)
{
    return real_workspace(&assay_op_add_rmsnorm, context, args);
}

/* A step of one token of tiny-hybrid has 15 of these calls: the 29th is in the second step, which
 * is the one that is recorded. */
/* A step has two calls a layer, the last layer one: the first step passes, and the second, which is
 * recorded, fails half-way. */
static int64_t failing_call;

static assay_status fails_recording(assay_context *context, const void *arguments, void *workspace)
{
    const struct assay_add_rmsnorm_args *args = arguments;
    if (args->x.extent[0] == 1 && ++num_calls > failing_call)
        return ASSAY_E_INTERNAL;
    return run_real(&assay_op_add_rmsnorm, context, args, workspace);
}

static const struct assay_route mutants[NUM_REPLAY_MUTANTS] = {
    [MUTANT_HOST_POSITION] = {.name = "qk_norm_rope_append.host_position.mutant",
                              .backend = ASSAY_CUDA,
                              .workspace = append_workspace,
                              .run = host_position},
    [MUTANT_STALE_POOL] = {.name = "qk_norm_rope_append.stale_pool.mutant",
                           .backend = ASSAY_CUDA,
                           .workspace = append_workspace,
                           .run = stale_pool},
    [MUTANT_UNWRITTEN_WORKSPACE] = {.name = "add.unwritten_workspace.mutant",
                                    .backend = ASSAY_CUDA,
                                    .workspace = unwritten_bytes,
                                    .run = unwritten_workspace},
    [MUTANT_PADDED_ROW] = {.name = "add.padded_row.mutant",
                           .backend = ASSAY_CUDA,
                           .run = padded_row},
    [MUTANT_HOST_ID] = {.name = "embedding.host_id.mutant",
                        .backend = ASSAY_CUDA,
                        .workspace = id_bytes,
                        .run = host_id},
    [MUTANT_HOST_ID_GROUPED] = {.name = "embedding_grouped.host_id.mutant",
                                .backend = ASSAY_CUDA,
                                .workspace = id_bytes,
                                .run = host_id_grouped},
    [MUTANT_FAILS_RECORDING] = {.name = "add_rmsnorm.fails_recording.mutant",
                                .backend = ASSAY_CUDA,
                                .workspace = norm_workspace,
                                .run = fails_recording},
};

bool replay_mutants_add(int64_t num_layers)
{
    failing_call = 3 * num_layers - 1;
    for (int i = 0; i < NUM_REPLAY_MUTANTS; i++) {
        struct assay_error error = {.status = ASSAY_OK};
        if (assay_route_add(&mutants[i], &error) == ASSAY_OK)
            continue;
        assay_error_format(&error, play_error, sizeof play_error);
        return false;
    }
    return true;
}

const char *replay_mutant_begin(enum replay_mutant mutant)
{
    num_calls = 0;
    return mutants[mutant].name;
}
