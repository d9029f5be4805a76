/* SPDX-License-Identifier: MIT
 *
 * embedding's cases.
 */
#include "embedding_mutants.h"

#include <string.h>

#include "case.h"

static const int64_t token_counts[] = {0, 1, 2, 3, 17, 32, 100, -1};
static const int64_t widths[] = {1, 2, 3, 5, 63, 64, 65, 257, 1000, 5120, -1};
static const int64_t vocabularies[] = {1, 2, 3, 129, 1000, 70000, -1};

#define FLOATS (1u << ASSAY_F32 | 1u << ASSAY_BF16)

static const struct case_param params[] = {
    {.name = "T", .kind = CASE_COUNT, .lo = 0, .hi = 4096, .fallback = 5, .values = token_counts},
    {.name = "V",
     .kind = CASE_COUNT,
     .lo = 1,
     .hi = 262144,
     .fallback = 29,
     .values = vocabularies},
    {.name = "H", .kind = CASE_COUNT, .lo = 1, .hi = 65536, .fallback = 83, .values = widths},
    {.name = "table", .kind = CASE_FORMAT, .fallback = ASSAY_BF16, .formats = FLOATS},
    {.name = "y", .kind = CASE_FORMAT, .fallback = ASSAY_F32, .formats = FLOATS},
};

static void adjust(struct assay_case *c)
{
    const int64_t max_elements = 200000;
    int64_t rows = case_get(c, "V"), width = case_get(c, "H");
    if (rows * width > max_elements) {
        if (rows > width)
            case_set(c, "H", max_elements / rows > 0 ? max_elements / rows : 1);
        else
            case_set(c, "V", max_elements / width > 0 ? max_elements / width : 1);
    }
    width = case_get(c, "H");
    if (case_get(c, "T") * width > max_elements)
        case_set(c, "T", max_elements / width);
}

/* Any copy is exact; small integers are in every format. */
static bool exact(const struct assay_case *c)
{
    (void)c;
    return true;
}

static bool build(struct trial *trial)
{
    struct assay_embedding_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), rows = case_get(c, "V"), width = case_get(c, "H");
    int64_t table_extent[] = {rows, width}, y_extent[] = {tokens, width};
    a->ids = trial_input(trial, "ids", ASSAY_I32, 1, &tokens, values_of(c));
    for (int64_t t = 0; t < tokens; t++)
        trial_put_int(trial, &a->ids, t, trial_below(trial, "id", (uint64_t)t, rows));
    if (tokens > 0) /* the ends of the table */
        trial_put_int(trial, &a->ids, 0, rows - 1);
    if (tokens > 2)
        trial_put_int(trial, &a->ids, tokens - 1, 0);
    a->table = trial_input(trial, "table", (enum assay_dtype)case_get(c, "table"), 2, table_extent,
                           values_of(c));
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

/* A wrong row shows only where rows differ. Short rows may agree by chance. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), width = case_get(c, "H");
    if (c->dist != CASE_DIST_NORMAL || tokens <= 2 || case_get(c, "V") == 1 || width < 8)
        return;
    const double *first = outputs[0].value, *last = first + (tokens - 1) * width;
    trial_claim(trial, "the first and the last row of y differ",
                memcmp(first, last, (size_t)width * sizeof *first) != 0);
}

const struct case_spec case_spec_embedding = {
    .op = &assay_op_embedding,
    .oracle_name = "embedding",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = embedding_mutants,
    .num_mutants = EMBEDDING_NUM_MUTANTS,
    .row_fields = "ids y",
};
