/* SPDX-License-Identifier: MIT
 *
 * Dispatch: the table's order, forced routes, added routes, and counters that count exactly what
 * ran.
 */
#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <assay/ops/add.h>
#include <assay/ops/rmsnorm.h>
#include <assay/route.h>

static float x_data[6] = {1, 2, 3, 4, 5, 6}, w_data[3] = {1, 1, 1}, y_data[6];

static struct assay_add_args add_args(void)
{
    return (struct assay_add_args){.a = assay_tensor_2d(x_data, ASSAY_F32, 2, 3),
                                   .b = assay_tensor_2d(x_data, ASSAY_F32, 2, 3),
                                   .y = assay_tensor_2d(y_data, ASSAY_F32, 2, 3)};
}

static struct assay_rmsnorm_args norm_args(void)
{
    return (struct assay_rmsnorm_args){.x = assay_tensor_2d(x_data, ASSAY_F32, 2, 3),
                                       .w = assay_tensor_1d(w_data, ASSAY_F32, 3),
                                       .y = assay_tensor_2d(y_data, ASSAY_F32, 2, 3),
                                       .eps = 1e-6};
}

static assay_context *new_context(enum assay_isa isa)
{
    struct assay_context_options options = assay_context_defaults();
    options.max_isa = isa;
    assay_context *context;
    cr_assert_eq(assay_context_create(&options, &context, NULL), ASSAY_OK);
    return context;
}

/* Each op's table: names belong to the op and are unique; the last row is plain: any processor.
 * (core.threads checks that some plain row takes every case.) */
Test(dispatch, tables)
{
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    cr_assert(num_ops > 0);
    for (int i = 0; i < num_ops; i++) {
        const struct assay_op *op = ops[i];
        cr_assert_eq(assay_op_find(op->name), op);
        cr_assert(i == 0 || strcmp(ops[i - 1]->name, op->name) < 0, "%s is out of order", op->name);
        cr_assert(op->num_routes > 0 && op->validate != NULL && op->floor != NULL);
        cr_assert_eq(assay_op_num_routes(op), op->num_routes);
        size_t length = strlen(op->name);
        for (int r = 0; r < op->num_routes; r++) {
            const struct assay_route *route = &op->routes[r];
            const struct assay_op *owner = NULL;
            cr_assert_eq(assay_op_route(op, r), route);
            cr_assert(strncmp(route->name, op->name, length) == 0 && route->name[length] == '.',
                      "%s in the table of %s", route->name, op->name);
            cr_assert_eq(assay_route_find(route->name, &owner), route, "%s is not unique",
                         route->name);
            cr_assert_eq(owner, op);
            cr_assert(route->run != NULL && route->when != NULL, "%s", route->name);
        }
        const struct assay_route *last = &op->routes[op->num_routes - 1];
        cr_assert_eq(last->isa, ASSAY_ISA_PORTABLE, "%s: the last row is not plain", op->name);
        cr_assert_null(assay_op_route(op, op->num_routes));
        cr_assert_null(assay_op_route(op, -1));
    }
    const char *const unknown[] = {
        "", ".", "add", "add.", "add.plain", "ad.plain.cpu", "addd.plain.cpu"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        cr_assert_null(assay_route_find(unknown[i], NULL), "'%s'", unknown[i]);
    cr_assert_null(assay_op_find("nonsense"));
}

/* Sum of the counters of all routes of all ops. */
static uint64_t all_counts(const assay_context *context)
{
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    uint64_t sum = 0;
    for (int i = 0; i < num_ops; i++)
        for (int r = 0; r < assay_op_num_routes(ops[i]); r++)
            sum += assay_context_route_count(context, assay_op_route(ops[i], r)->name);
    return sum;
}

Test(dispatch, counters)
{
    assay_context *context = new_context(ASSAY_NUM_ISAS);
    struct assay_add_args add = add_args(), bad = add_args();
    struct assay_rmsnorm_args norm = norm_args();
    const char *first = NULL; /* the row that a free call takes */
    for (int r = 0; first == NULL; r++)
        if (assay_op_add.routes[r].backend == ASSAY_CPU &&
            assay_op_add.routes[r].isa <= assay_isa_detect())
            first = assay_op_add.routes[r].name;
    for (int i = 0; i < 5; i++)
        cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(assay_context_route_count(context, first), 5u);
    cr_assert_eq(all_counts(context), 5u, "another route was counted");
    cr_assert_eq(assay_context_force_route(context, "add.plain.cpu"), ASSAY_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK);
    uint64_t plain = strcmp(first, "add.plain.cpu") == 0 ? 8 : 3;
    cr_assert_eq(assay_context_route_count(context, "add.plain.cpu"), plain);
    cr_assert_eq(all_counts(context), 9u);
    bad.a.data = NULL;
    cr_assert_eq(assay_add(context, &bad), ASSAY_E_ARG);
    cr_assert_eq(all_counts(context), 9u, "a refused call is no run");
    cr_assert_eq(assay_context_route_count(context, "nonsense"), 0u);
    assay_context *other = new_context(ASSAY_NUM_ISAS);
    cr_assert_eq(all_counts(other), 0u, "contexts count on their own");
    assay_context_destroy(other);
    assay_context_reset_counts(context);
    cr_assert_eq(all_counts(context), 0u);
    cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(assay_context_route_count(context, "add.plain.cpu"), 1u);
    assay_context_destroy(context);
}

/* Without an instruction set its routes are not taken, and refuse when forced. */
Test(dispatch, instruction_sets)
{
    assay_context *context = new_context(ASSAY_ISA_PORTABLE);
    struct assay_add_args add = add_args();
    cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(assay_context_route_count(context, "add.plain.cpu"), 1u);
    for (int r = 0; r < assay_op_add.num_routes; r++) {
        const struct assay_route *route = &assay_op_add.routes[r];
        if (route->isa == ASSAY_ISA_PORTABLE)
            continue;
        cr_assert_eq(assay_context_force_route(context, route->name), ASSAY_OK);
        memset(y_data, 0x5a, sizeof y_data);
        float before = y_data[0];
        cr_assert_eq(assay_add(context, &add), ASSAY_E_ROUTE_REFUSED);
        cr_assert(memcmp(&y_data[0], &before, sizeof before) == 0, "it ran all the same");
        const struct assay_error *error = assay_context_error(context);
        cr_assert_str_eq(error->where, "add");
        cr_assert_str_eq(error->what, "route");
        cr_assert_not_null(strstr(error->message, route->name));
        cr_assert_not_null(strstr(error->message, assay_isa_name(route->isa)));
        cr_assert_eq(assay_context_route_count(context, route->name), 0u);
    }
    assay_context_destroy(context);
}

/* ---- added routes --------------------------------------------------------------------------- */

static int num_runs;
static bool willing;
static assay_status result;

static bool accepts(const void *args)
{
    (void)args;
    return willing;
}

static assay_status run(assay_context *context, const void *args, void *workspace)
{
    (void)context;
    (void)args;
    (void)workspace;
    num_runs++;
    return result;
}

static const struct assay_route added = {.name = "add.test.added.cpu",
                                         .backend = ASSAY_CPU,
                                         .when = "the test is willing",
                                         .accepts = accepts,
                                         .run = run};

Test(dispatch, forced_and_added)
{
    assay_context *context = new_context(ASSAY_NUM_ISAS);
    const struct assay_error *error = assay_context_error(context);
    struct assay_add_args add = add_args();
    struct assay_rmsnorm_args norm = norm_args();
    cr_assert_eq(assay_context_force_route(context, added.name), ASSAY_E_ROUTE_UNKNOWN);
    cr_assert_eq(assay_route_add(&added, NULL), ASSAY_OK);
    int last = assay_op_num_routes(&assay_op_add) - 1;
    cr_assert_eq(last, assay_op_add.num_routes);
    cr_assert_eq(assay_op_route(&assay_op_add, last), &added);
    willing = true;
    cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(num_runs, 0, "an added route ran without being forced");

    cr_assert_eq(assay_context_force_route(context, added.name), ASSAY_OK);
    cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK, "other ops are not affected");
    cr_assert_eq(num_runs, 1);
    cr_assert_eq(assay_context_route_count(context, added.name), 1u);
    cr_assert_eq(assay_context_force_route(context, "rmsnorm.plain.cpu"), ASSAY_OK);
    cr_assert_eq(assay_add(context, &add), ASSAY_OK, "one forced route per op");
    cr_assert_eq(num_runs, 2);

    willing = false;
    cr_assert_eq(assay_add(context, &add), ASSAY_E_ROUTE_REFUSED);
    cr_assert_not_null(strstr(error->message, "the test is willing"), "%s", error->message);
    add.a.data = NULL;
    cr_assert_eq(assay_add(context, &add), ASSAY_E_ARG, "a bad call is bad on any route");
    add = add_args();
    willing = true;

    result = ASSAY_E_UNSUPPORTED; /* a route that fails and says nothing */
    cr_assert_eq(assay_add(context, &add), ASSAY_E_UNSUPPORTED);
    cr_assert_eq(error->status, ASSAY_E_UNSUPPORTED);
    cr_assert_str_eq(error->where, "add");
    cr_assert_str_eq(error->what, added.name);
    result = ASSAY_OK;

    cr_assert_eq(assay_context_force_route(context, "add.plain.cpu"), ASSAY_OK, "takes its place");
    num_runs = 0;
    cr_assert_eq(assay_add(context, &add), ASSAY_OK);
    cr_assert_eq(num_runs, 0);
    cr_assert_eq(assay_context_force_route(context, NULL), ASSAY_OK);
    uint64_t plain = assay_context_route_count(context, "rmsnorm.plain.cpu");
    cr_assert_eq(assay_rmsnorm(context, &norm), ASSAY_OK);
    bool only_plain = assay_isa_detect() == ASSAY_ISA_PORTABLE;
    cr_assert_eq(assay_context_route_count(context, "rmsnorm.plain.cpu") - plain, only_plain);
    assay_context_destroy(context);
    assay_route_remove(&added);
    cr_assert_null(assay_route_find(added.name, NULL));
    assay_route_remove(&added); /* no effect */
    cr_assert_eq(assay_op_num_routes(&assay_op_add), assay_op_add.num_routes);
}

static void refuse_row(const struct assay_route *route, assay_status status, const char *found)
{
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_route_add(route, &error), status, "%s", found);
    cr_assert_str_eq(error.where, "route");
    cr_assert_not_null(strstr(error.message, found), "%s", error.message);
}

Test(dispatch, wrong_rows)
{
    struct assay_route route = added;
    route.run = NULL;
    refuse_row(&route, ASSAY_E_ARG, "a function");
    route = added;
    route.name = NULL;
    refuse_row(&route, ASSAY_E_ARG, "a name");
    route.name = "nonsense.test.cpu";
    refuse_row(&route, ASSAY_E_ARG, "no op 'nonsense'");
    route.name = "add.plain.cpu";
    refuse_row(&route, ASSAY_E_ARG, "taken");
    char longer[128] = "add.";
    memset(longer + 4, 'x', 60);
    route.name = longer;
    refuse_row(&route, ASSAY_E_ARG, "63");
    longer[63] = '\0';
    cr_assert_eq(assay_route_add(&route, NULL), ASSAY_OK, "63 characters are fine");
    refuse_row(&route, ASSAY_E_ARG, "taken");
    assay_route_remove(&route);

    static struct assay_route many[65];
    static char names[65][32];
    for (int i = 0; i < 65; i++) {
        snprintf(names[i], sizeof names[i], "add.test.%d.cpu", i);
        many[i] = added;
        many[i].name = names[i];
        if (i < 64)
            cr_assert_eq(assay_route_add(&many[i], NULL), ASSAY_OK);
    }
    refuse_row(&many[64], ASSAY_E_FULL, "64");
    cr_assert_eq(assay_op_num_routes(&assay_op_add), assay_op_add.num_routes + 64);
    assay_route_remove(&many[10]);
    cr_assert_eq(assay_route_add(&many[64], NULL), ASSAY_OK, "room for one again");
    cr_assert_eq(assay_route_find("add.test.64.cpu", NULL), &many[64]);
    for (int i = 0; i < 65; i++)
        assay_route_remove(&many[i]);
    cr_assert_eq(assay_op_num_routes(&assay_op_add), assay_op_add.num_routes);
}
