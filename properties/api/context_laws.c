/* SPDX-License-Identifier: MIT
 *
 * Contexts: options and their errors, the workspace arena, the error record.
 */
#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <assay/device.h>
#include <assay/ops/add.h>
#include <assay/route.h>
#include <assay/testing.h>

static float a_data[6] = {1, 2, 3, 4, 5, 6}, b_data[6] = {1, 1, 1, 1, 1, 1}, y_data[6];

static struct assay_add_args good_args(void)
{
    return (struct assay_add_args){.a = assay_tensor_2d(a_data, ASSAY_F32, 2, 3),
                                   .b = assay_tensor_2d(b_data, ASSAY_F32, 2, 3),
                                   .y = assay_tensor_2d(y_data, ASSAY_F32, 2, 3)};
}

static assay_context *create(struct assay_context_options options)
{
    assay_context *context;
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_context_create(&options, &context, &error), ASSAY_OK, "%s", error.message);
    cr_assert_not_null(context);
    cr_assert_eq(error.status, ASSAY_OK);
    return context;
}

static void refuse(struct assay_context_options options, assay_status status, const char *what,
                   const char *found)
{
    static char something;
    assay_context *context = (assay_context *)(void *)&something;
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_context_create(&options, &context, &error), status, "%s", what);
    cr_assert_null(context, "%s: a context in spite of the error", what);
    cr_assert_eq(error.status, status);
    cr_assert_str_eq(error.where, "context");
    cr_assert_str_eq(error.what, what);
    cr_assert_not_null(strstr(error.message, found), "%s", error.message);
    cr_assert_eq(assay_context_create(&options, &context, NULL), status, "without a record");
    cr_assert_eq(assay_live_allocations(), 0);
}

Test(context, options)
{
    struct assay_context_options options = assay_context_defaults();
    cr_assert_eq(options.backend, ASSAY_CPU);
    cr_assert_eq(options.num_threads, 1);
    cr_assert_eq(options.workspace_bytes, 0);
    assay_context *context = create(options);
    cr_assert_eq(assay_context_backend(context), ASSAY_CPU);
    cr_assert_eq(assay_context_num_threads(context), 1);
    cr_assert_eq(assay_context_isa(context), assay_isa_detect());
    cr_assert_eq(assay_context_error(context)->status, ASSAY_OK);
    assay_context_destroy(context);
    assay_context_destroy(NULL);

    options.num_threads = 0;
    context = create(options);
    cr_assert(assay_context_num_threads(context) >= 1);
    assay_context_destroy(context);
    for (int isa = 0; isa <= ASSAY_NUM_ISAS; isa++) {
        options = assay_context_defaults();
        options.max_isa = (enum assay_isa)isa;
        context = create(options);
        int has = (int)assay_isa_detect();
        cr_assert_eq((int)assay_context_isa(context), isa < has ? isa : has);
        assay_context_destroy(context);
    }
    cr_assert_eq(assay_live_allocations(), 0);
}

Test(context, wrong_options)
{
    struct assay_context_options options = assay_context_defaults();
    options.num_threads = -1;
    refuse(options, ASSAY_E_ARG, "num_threads", "-1");
    options.num_threads = 1025;
    refuse(options, ASSAY_E_ARG, "num_threads", "1025");
    options = assay_context_defaults();
    options.backend = ASSAY_NUM_BACKENDS;
    refuse(options, ASSAY_E_UNSUPPORTED, "backend", "?");
    options = assay_context_defaults();
    options.workspace_bytes = SIZE_MAX;
    refuse(options, ASSAY_E_MEMORY, "workspace_bytes", "18446744073709551615");
}

/* Without the backend, without a device, with a number that no device has: each says so. */
Test(context, backend_cuda)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_CUDA;
    if (assay_route_find("add.row.cuda", NULL) == NULL) {
        refuse(options, ASSAY_E_UNSUPPORTED, "backend", "cuda");
        return;
    }
    options.device = assay_device_count();
    refuse(options, ASSAY_E_NOT_FOUND, "device",
           options.device == 0 ? "no CUDA device" : "there is no device");
    options.device = -1;
    refuse(options, ASSAY_E_NOT_FOUND, "device", "no ");
}

/* A context of the executor takes the executor's routes and no other, where it is built. */
Test(context, backend_simt)
{
    struct assay_context_options options = assay_context_defaults();
    options.backend = ASSAY_SIMT;
    if (assay_route_find("add.row.simt", NULL) == NULL) {
        refuse(options, ASSAY_E_UNSUPPORTED, "backend", "simt");
        return;
    }
    assay_context *context = create(options);
    struct assay_add_args add = good_args();
    cr_assert_eq(assay_context_backend(context), ASSAY_SIMT);
    cr_assert_eq(assay_add(context, &add), ASSAY_OK, "%s", assay_context_error(context)->message);
    cr_assert_eq(assay_context_route_count(context, "add.row.simt"), 1);
    cr_assert_eq(assay_context_force_route(context, "add.plain.cpu"), ASSAY_E_ROUTE_UNKNOWN);
    assay_context_destroy(context);
}

Test(context, names)
{
    cr_assert_str_eq(assay_backend_name(ASSAY_CPU), "cpu");
    cr_assert_str_eq(assay_backend_name(ASSAY_CUDA), "cuda");
    cr_assert_str_eq(assay_backend_name(ASSAY_SIMT), "simt");
    cr_assert_str_eq(assay_backend_name(ASSAY_NUM_BACKENDS), "?");
    cr_assert_str_eq(assay_backend_name((enum assay_backend)(-1)), "?");
    cr_assert_str_eq(assay_isa_name(ASSAY_ISA_PORTABLE), "portable");
    cr_assert_str_eq(assay_isa_name(ASSAY_NUM_ISAS), "?");
    for (int p = 0; p < ASSAY_NUM_PROFILES; p++) {
        cr_assert_str_neq(assay_profile_name((enum assay_profile)p), "?");
        cr_assert_str_neq(assay_profile_meaning((enum assay_profile)p), "?");
    }
    cr_assert_str_eq(assay_profile_name(ASSAY_NUM_PROFILES), "?");
    cr_assert_str_eq(assay_profile_meaning(ASSAY_NUM_PROFILES), "?");
}

/* ---- workspace: a route that asks for `wanted` bytes and fills them ------------------------- */

static size_t wanted;
static void *given;
static int num_runs;

static size_t workspace(const assay_context *context, const void *args)
{
    (void)context;
    (void)args;
    return wanted;
}

static assay_status run(assay_context *context, const void *args, void *memory)
{
    (void)context;
    (void)args;
    given = memory;
    num_runs++;
    if (memory != NULL)
        memset(memory, 0x5a, wanted);
    return ASSAY_OK;
}

static const struct assay_route hungry = {
    .name = "add.test.hungry.cpu", .backend = ASSAY_CPU, .workspace = workspace, .run = run};

static void fixed_arena(void)
{
    struct assay_context_options options = assay_context_defaults();
    options.workspace_bytes = 512;
    assay_context *context = create(options);
    struct assay_add_args args = good_args();
    cr_assert_eq(assay_context_force_route(context, hungry.name), ASSAY_OK);
    const size_t sizes[] = {1, 512, 0, 513, 512, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bool fits = sizes[i] <= 512;
        int before = num_runs;
        uint64_t counted = assay_context_route_count(context, hungry.name);
        wanted = sizes[i];
        assay_status status = assay_add(context, &args);
        cr_assert_eq(status, fits ? ASSAY_OK : ASSAY_E_WORKSPACE, "%zu bytes", sizes[i]);
        cr_assert_eq(num_runs - before, fits ? 1 : 0, "%zu bytes", sizes[i]);
        cr_assert_eq(assay_context_route_count(context, hungry.name) - counted, fits ? 1u : 0u);
        if (fits) {
            cr_assert_eq(given == NULL, sizes[i] == 0);
            cr_assert_eq((uintptr_t)given % 64, 0u);
            continue;
        }
        const struct assay_error *error = assay_context_error(context);
        char number[32];
        snprintf(number, sizeof number, "%zu", sizes[i]);
        cr_assert_str_eq(error->where, "add");
        cr_assert_str_eq(error->what, "workspace");
        cr_assert_not_null(strstr(error->message, number), "%s", error->message);
        cr_assert_not_null(strstr(error->message, "512"), "%s", error->message);
    }
    assay_context_destroy(context);
}

static void growing_arena(void)
{
    assay_context *context = create(assay_context_defaults());
    struct assay_add_args args = good_args();
    cr_assert_eq(assay_context_force_route(context, hungry.name), ASSAY_OK);
    const size_t sizes[] = {0, 1, 65, 1 << 20, 3, 1 << 21};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        wanted = sizes[i];
        cr_assert_eq(assay_add(context, &args), ASSAY_OK, "%zu bytes", sizes[i]);
        cr_assert_eq(given == NULL, sizes[i] == 0);
        cr_assert_eq((uintptr_t)given % 64, 0u);
    }
    wanted = SIZE_MAX - 8;
    cr_assert_eq(assay_add(context, &args), ASSAY_E_MEMORY);
    cr_assert_str_eq(assay_context_error(context)->what, "workspace");
    wanted = 3;
    cr_assert_eq(assay_add(context, &args), ASSAY_OK, "usable after the failure");
    assay_context_destroy(context);
}

Test(context, workspace)
{
    cr_assert_eq(assay_route_add(&hungry, NULL), ASSAY_OK);
    fixed_arena();
    growing_arena();
    assay_route_remove(&hungry);
    cr_assert_eq(assay_live_allocations(), 0);
}

/* The record is that of the last failed call, whichever function it was. */
Test(context, error_record)
{
    assay_context *context = create(assay_context_defaults());
    const struct assay_error *error = assay_context_error(context);
    struct assay_add_args args = good_args(), bad = good_args();
    bad.b.extent[1] = 2;
    cr_assert_eq(assay_add(context, &bad), ASSAY_E_SHAPE);
    cr_assert_str_eq(error->where, "add");
    cr_assert_str_eq(error->what, "b");
    bad = good_args();
    bad.y.data = NULL;
    cr_assert_eq(assay_add(context, &bad), ASSAY_E_ARG, "another failure takes its place");
    cr_assert_str_eq(error->what, "y");
    cr_assert_eq(assay_context_force_route(context, "add.nonsense.cpu"), ASSAY_E_ROUTE_UNKNOWN);
    cr_assert_eq(error->status, ASSAY_E_ROUTE_UNKNOWN);
    cr_assert_str_eq(error->where, "context");
    cr_assert_str_eq(error->what, "route");
    cr_assert_not_null(strstr(error->message, "add.nonsense.cpu"));
    cr_assert_eq(assay_add(context, NULL), ASSAY_E_ARG);
    cr_assert_str_eq(error->what, "args");
    cr_assert_eq(assay_add(context, &args), ASSAY_OK);
    cr_assert_eq(error->status, ASSAY_OK, "a good call leaves no failure");
    cr_assert_eq(assay_add(context, &bad), ASSAY_E_ARG);
    assay_context_clear_error(context);
    cr_assert_eq(error->status, ASSAY_OK);
    cr_assert_str_eq(error->message, "");
    cr_assert(y_data[0] == 2 && y_data[5] == 7);
    assay_context_destroy(context);
}
