/* SPDX-License-Identifier: MIT
 *
 * What law suites share: contexts, routes taken one after another, numbers to calculate with.
 */
#ifndef PROPERTIES_LAWS_H
#define PROPERTIES_LAWS_H

#include <assay/context.h>
#include <assay/route.h>

/* A context with the defaults but for its number of threads (0: the default). */
assay_context *new_context(int num_threads);

/* Forces route `index` of the op and returns it. NULL, and nothing is forced, when this machine
 * lacks what the route needs. */
const struct assay_route *take_route(assay_context *context, const struct assay_op *op, int index);

/* Runs the statement that follows once for each route of the op that this machine can run, with
 * the context forced to it. `route` is a variable of the caller. */
#define EACH_ROUTE(context, op, route)                   \
    for (int i_ = 0; i_ < assay_op_num_routes(op); i_++) \
        if ((route = take_route(context, op, i_)) != NULL)

/* The same with a function and a context of its own. */
void each_route(const struct assay_op *op, void (*body)(assay_context *context, const char *route));

/* x[count] of multiples of 2^-9 in [-2, 2], the same for the same seed. */
void fill_floats(float *x, int count, int seed);

#endif
