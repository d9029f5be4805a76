/* SPDX-License-Identifier: MIT
 *
 * From a call to a route: validate, choose, reserve workspace, count, run. And the routes that are
 * added at run time.
 */
#include "core/context_state.h"

#include <string.h>

#include "cuda/simt_launch.h"

enum { MAX_ADDED = 64, MAX_NAME = 63 };
static const struct assay_route *added[MAX_ADDED];
static int num_added;

const char *assay_profile_name(enum assay_profile profile)
{
    static const char *const names[ASSAY_NUM_PROFILES] = {
#define PROFILE_NAME(enumerator, name, meaning) [ASSAY_PROFILE_##enumerator] = name,
        ASSAY_PROFILE_TABLE(PROFILE_NAME)
#undef PROFILE_NAME
    };
    return (unsigned)profile < ASSAY_NUM_PROFILES ? names[profile] : "?";
}

const char *assay_profile_meaning(enum assay_profile profile)
{
    static const char *const meanings[ASSAY_NUM_PROFILES] = {
#define PROFILE_MEANING(enumerator, name, meaning) [ASSAY_PROFILE_##enumerator] = meaning,
        ASSAY_PROFILE_TABLE(PROFILE_MEANING)
#undef PROFILE_MEANING
    };
    return (unsigned)profile < ASSAY_NUM_PROFILES ? meanings[profile] : "?";
}

/* Length of the op's name in a route's name: up to the first dot. */
static size_t op_length(const char *route)
{
    return strcspn(route, ".");
}

static bool belongs(const struct assay_route *route, const struct assay_op *op)
{
    size_t length = op_length(route->name);
    return strlen(op->name) == length && strncmp(op->name, route->name, length) == 0;
}

int assay_op_num_routes(const struct assay_op *op)
{
    int count = op->num_routes;
    for (int i = 0; i < num_added; i++)
        count += belongs(added[i], op);
    return count;
}

const struct assay_route *assay_op_route(const struct assay_op *op, int index)
{
    if (index < 0)
        return NULL;
    if (index < op->num_routes)
        return &op->routes[index];
    index -= op->num_routes;
    for (int i = 0; i < num_added; i++)
        if (belongs(added[i], op) && index-- == 0)
            return added[i];
    return NULL;
}

const struct assay_route *assay_route_find(const char *name, const struct assay_op **op)
{
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    size_t length = op_length(name);
    for (int i = 0; i < num_ops; i++) {
        if (strlen(ops[i]->name) != length || strncmp(ops[i]->name, name, length) != 0)
            continue;
        int num_routes = assay_op_num_routes(ops[i]);
        for (int r = 0; r < num_routes; r++) {
            const struct assay_route *route = assay_op_route(ops[i], r);
            if (strcmp(route->name, name) == 0) {
                if (op != NULL)
                    *op = ops[i];
                return route;
            }
        }
    }
    return NULL;
}

assay_status assay_route_add(const struct assay_route *route, struct assay_error *error)
{
    if (route->name == NULL || route->run == NULL)
        return assay_fail(error, ASSAY_E_ARG, "route", "", "a route needs a name and a function");
    if (strlen(route->name) > MAX_NAME)
        return assay_fail(error, ASSAY_E_ARG, "route", route->name,
                          "a name has at most %d characters", MAX_NAME);
    char op_name[64];
    snprintf(op_name, sizeof op_name, "%.*s", (int)op_length(route->name), route->name);
    if (assay_op_find(op_name) == NULL)
        return assay_fail(error, ASSAY_E_ARG, "route", route->name, "there is no op '%s'", op_name);
    if (assay_route_find(route->name, NULL) != NULL)
        return assay_fail(error, ASSAY_E_ARG, "route", route->name, "the name is taken");
    if (num_added == MAX_ADDED)
        return assay_fail(error, ASSAY_E_FULL, "route", route->name,
                          "%d routes have been added already", MAX_ADDED);
    added[num_added++] = route;
    return ASSAY_OK;
}

void assay_route_remove(const struct assay_route *route)
{
    for (int i = 0; i < num_added; i++) {
        if (added[i] == route) {
            added[i] = added[--num_added];
            return;
        }
    }
}

/* The bytes are asked for on a device that has less than the kernels are written for. */
static bool fits(const assay_context *context, const struct assay_route *route, const void *args)
{
    return context->shared_limit >= SIMT_SHARED_MOST || route->shared_bytes == NULL ||
           route->shared_bytes(args) <= context->shared_limit;
}

static bool route_is_for(const assay_context *context, const struct assay_route *route)
{
    return route->backend == context->backend && route->isa <= context->isa;
}

bool assay_route_takes(const assay_context *context, const struct assay_route *route,
                       const void *args)
{
    return route_is_for(context, route) && (route->accepts == NULL || route->accepts(args)) &&
           fits(context, route, args);
}

/* A forced route that does not take the call. */
static void refuse_forced(assay_context *context, const struct assay_op *op,
                          const struct assay_route *forced, const void *args)
{
    if (route_is_for(context, forced) && (forced->accepts == NULL || forced->accepts(args)))
        assay_refuse(context, ASSAY_E_ROUTE_REFUSED, op->name, "route",
                     "'%s' needs %zu bytes of shared memory a block for this call, the device has "
                     "%zu; force another route or none",
                     forced->name, forced->shared_bytes(args), context->shared_limit);
    else
        assay_refuse(context, ASSAY_E_ROUTE_REFUSED, op->name, "route",
                     "'%s' takes only: %s; needs %s", forced->name,
                     forced->when != NULL ? forced->when : "all calls",
                     assay_isa_name(forced->isa));
}

/* NULL with the context's error record filled when no route takes the call. */
static const struct assay_route *choose(assay_context *context, const struct assay_op *op,
                                        const void *args)
{
    const struct assay_route *forced = context_forced(context, op);
    if (forced != NULL) {
        if (assay_route_takes(context, forced, args))
            return forced;
        refuse_forced(context, op, forced, args);
        return NULL;
    }
    for (int i = 0; i < op->num_routes; i++)
        if (assay_route_takes(context, &op->routes[i], args))
            return &op->routes[i];
    assay_refuse(context, ASSAY_E_NO_ROUTE, op->name, "route",
                 "no route of backend %s accepts the call", assay_backend_name(context->backend));
    return NULL;
}

assay_status assay_run_op(assay_context *context, const struct assay_op *op, const void *args)
{
    assay_error_clear(&context->error);
    if (args == NULL)
        return assay_refuse(context, ASSAY_E_ARG, op->name, "args", "must not be null");
    ASSAY_TRY(op->validate(context, args));
    const struct assay_route *route = choose(context, op, args);
    if (route == NULL)
        return context->error.status;
    void *workspace;
    size_t bytes = route->workspace != NULL ? route->workspace(context, args) : 0;
    ASSAY_TRY(context_workspace(context, op->name, bytes, &workspace));
    struct route_counts *counts = context->recorded != NULL ? context->recorded : &context->counts;
    ASSAY_TRY(context_count(context, op->name, counts, route, 1));
    if (context->observer != NULL)
        context->observer(context->observer_user, op, route, args, false);
    assay_status status = route->run(context, args, workspace);
    if (context->observer != NULL)
        context->observer(context->observer_user, op, route, args, true);
    if (status != ASSAY_OK && context->error.status == ASSAY_OK)
        assay_refuse(context, status, op->name, route->name, "the route failed");
    return status;
}

assay_status assay_op_workspace(assay_context *context, const struct assay_op *op, const void *args,
                                size_t *bytes)
{
    *bytes = 0;
    assay_error_clear(&context->error);
    const struct assay_route *route = choose(context, op, args);
    if (route == NULL)
        return context->error.status;
    if (route->workspace != NULL)
        *bytes = route->workspace(context, args);
    return ASSAY_OK;
}

assay_status assay_workspace_reserve(assay_context *context, size_t bytes)
{
    void *workspace;
    assay_error_clear(&context->error);
    return context_workspace(context, "session", bytes, &workspace);
}
