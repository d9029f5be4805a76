/* SPDX-License-Identifier: MIT
 *
 * argmax's cases. Columns at or beyond limit hold what must not be read: NaN, +inf or a number
 * larger than all others, by turns.
 */
#include "argmax_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"

static const int64_t row_counts[] = {0, 1, 2, 3, 17, -1};
/* 248077 addressable tokens of 248320 rows: the real vocabulary. */
static const int64_t limits[] = {1, 2, 3, 63, 64, 65, 257, 1000, 248077, -1};
static const int64_t paddings[] = {0, 1, 7, 243, -1};
static const char *const sign_names[] = {"any", "negative"};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = row_counts},
    {.name = "limit", .kind = CASE_COUNT, .lo = 1, .hi = 300000, .fallback = 90, .values = limits},
    {.name = "padding", .kind = CASE_COUNT, .lo = 0, .hi = 1000, .fallback = 5, .values = paddings},
    {.name = "logits", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
    {.name = "sign", .kind = CASE_CHOICE, .hi = 1, .names = sign_names},
};

/* Brings limit into the range of the route that takes long rows only. */
static void fit_route(struct assay_case *c)
{
    enum { LEAST = 16384, MOST_ROWS = 64 };
    int64_t limit = case_get(c, "limit"), rows = case_get(c, "T");
    if (strncmp(c->route, "argmax.split.", 13) != 0)
        return;
    if (rows >= MOST_ROWS - 1 && rows <= MOST_ROWS + 1)
        case_set(c, "limit", LEAST);
    else if (limit < LEAST - 1)
        case_set(c, "limit", LEAST + limit);
}

static void adjust(struct assay_case *c)
{
    fit_route(c);
    const int64_t many =
        strncmp(c->route, "argmax.split.", 13) == 0 && case_get(c, "limit") == 16384 ? 12 : 1;
    const int64_t max_elements = many * 100000;
    if (case_get(c, "T") * case_get(c, "limit") > max_elements)
        case_set(c, "T", 1 + max_elements / case_get(c, "limit"));
    if (c->layout == CASE_INPLACE)
        c->layout = CASE_PACKED;
}

static void fill_padding(struct trial *trial, const struct assay_argmax_args *a)
{
    static const double poison[] = {NAN, INFINITY, 0x1p100};
    int64_t width = a->logits.extent[1];
    double value = poison[trial->c->seed % 3];
    for (int64_t t = 0; t < a->logits.extent[0]; t++)
        for (int64_t i = a->limit; i < width; i++)
            trial_put(trial, &a->logits, t * width + i, value);
}

static bool build(struct trial *trial)
{
    struct assay_argmax_args *a = trial->args;
    const struct assay_case *c = trial->c;
    a->limit = case_get(c, "limit");
    int64_t extent[] = {case_get(c, "T"), a->limit + case_get(c, "padding")};
    struct values values = values_of(c);
    if (case_get(c, "sign") == 1)
        values.shift = -100;
    a->logits =
        trial_input(trial, "logits", (enum assay_dtype)case_get(c, "logits"), 2, extent, values);
    fill_padding(trial, a);
    a->ids = trial_output(trial, "ids", ASSAY_I32, 1, extent);
    return true;
}

const struct case_spec case_spec_argmax = {
    .op = &assay_op_argmax,
    .oracle_name = "argmax",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .adjust = adjust,
    .build = build,
    .mutants = argmax_mutants,
    .num_mutants = ARGMAX_NUM_MUTANTS,
    .row_fields = "logits ids",
};
