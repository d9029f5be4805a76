/* SPDX-License-Identifier: MIT
 *
 * embedding_grouped's cases. Planes are random bytes, the padding's too; scales are of either sign.
 */
#include "embedding_grouped_mutants.h"

#include <math.h>
#include <string.h>

#include "case.h"

/* Verify steps of up to 8 tokens one by one, lanes of batches, prefill chunks. */
static const int64_t token_counts[] = {0,  1,  2,  3,  4,  6,  7,   8,   9,   15,  16,
                                       17, 31, 32, 33, 64, 65, 100, 128, 256, 513, -1};
/* Both sides of groups and the padding, each remainder of a chunk of 8; the models' widths. */
static const int64_t widths[] = {1,   2,   3,   4,   5,    6,    7,    10,   11,  12,
                                 13,  14,  15,  16,  31,   32,   33,   63,   64,  65,
                                 96,  97,  127, 128, 129,  160,  191,  192,  193, 257,
                                 384, 385, 640, 641, 1000, 1024, 2560, 5120, -1};
/* Ids of more than 8 and more than 16 bits among them. */
static const int64_t vocabularies[] = {1, 2, 3, 7, 64, 129, 257, 1000, 65537, -1};
static const char *const formats[] = {"q4g64", "q5g64", "q6g64", "q8g32"};
/* Ids as a text has them; one token again and again; the table from its end. */
static const char *const orders[] = {"any", "one", "falling"};

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
    {.name = "table", .kind = CASE_CHOICE, .hi = 3, .fallback = 0, .names = formats},
    {.name = "order", .kind = CASE_CHOICE, .hi = 2, .fallback = 0, .names = orders},
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

/* Codes of up to 8 bits, scales of 1/2 to 2: in bf16, too. */
static bool exact(const struct assay_case *c)
{
    (void)c;
    return true;
}

static void build_table(struct trial *trial, struct assay_weights *w)
{
    const struct assay_case *c = trial->c;
    int64_t rows = case_get(c, "V"), width = case_get(c, "H"), padded = (width + 127) / 128 * 128;
    enum assay_weight_format format = assay_weight_format_from_name(formats[case_get(c, "table")]);
    int bits = assay_weight_bits(format);
    int64_t base[] = {rows, bits == 8 ? padded : padded / 2};
    int64_t high[] = {rows, padded / 8 * (bits - 4)};
    int64_t scale[] = {rows, padded / assay_weight_group(format)};
    struct values bytes = {.dist = CASE_DIST_UNIFORM, .scale = 127.5, .shift = 127.5};
    struct values scales = values_of(c);
    if (c->dist == CASE_DIST_EXACT)
        scales.scale = 0.5;
    *w = (struct assay_weights){.format = format, .rows = rows, .columns = width};
    w->base = trial_input(trial, "table.base", ASSAY_U8, 2, base, bytes);
    if (bits == 5 || bits == 6)
        w->high = trial_input(trial, "table.high", ASSAY_U8, 2, high, bytes);
    w->scales = trial_input(trial, "table.scales", ASSAY_F16, 2, scale, scales);
}

/* The ends of the table are among them, but for one token again and again: that is the last. */
static void put_ids(struct trial *trial, const struct assay_tensor *ids, int64_t rows)
{
    enum { ANY, ONE, FALLING };
    int64_t tokens = ids->extent[0], order = case_get(trial->c, "order");
    for (int64_t t = 0; t < tokens; t++) {
        int64_t id = trial_below(trial, "id", (uint64_t)t, rows);
        if (order != ANY)
            id = order == ONE ? rows - 1 : rows - 1 - t % rows;
        if (order == ANY && t == 0)
            id = rows - 1;
        if (order != ONE && t > 1 && t == tokens - 1)
            id = 0;
        trial_put_int(trial, ids, t, id);
    }
}

static bool build(struct trial *trial)
{
    struct assay_embedding_grouped_args *a = trial->args;
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), rows = case_get(c, "V");
    int64_t y_extent[] = {tokens, case_get(c, "H")};
    a->ids = trial_input(trial, "ids", ASSAY_I32, 1, &tokens, values_of(c));
    put_ids(trial, &a->ids, rows);
    build_table(trial, &a->table);
    if (c->dist == CASE_DIST_NONFINITE) /* in a row that the first token reads */
        trial_put(trial, &a->table.scales, (rows - 1) * a->table.scales.extent[1], NAN);
    a->y = trial_output(trial, "y", (enum assay_dtype)case_get(c, "y"), 2, y_extent);
    return true;
}

/* A wrong row shows only where rows differ. Short rows may agree by chance. */
static void claims(struct trial *trial, const struct oracle_output *outputs)
{
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), width = case_get(c, "H");
    if (c->dist != CASE_DIST_NORMAL || tokens <= 2 || case_get(c, "V") == 1 || width < 8 ||
        case_get(c, "order") == 1)
        return;
    const double *first = outputs[0].value, *last = first + (tokens - 1) * width;
    trial_claim(trial, "the first and the last row of y differ",
                memcmp(first, last, (size_t)width * sizeof *first) != 0);
}

const struct case_spec case_spec_embedding_grouped = {
    .op = &assay_op_embedding_grouped,
    .oracle_name = "embedding_grouped",
    .params = params,
    .num_params = (int)(sizeof params / sizeof params[0]),
    .dists = (1u << CASE_NUM_DISTS) - 1,
    .layouts = 1u << CASE_PACKED | 1u << CASE_STRIDED,
    .exact = exact,
    .adjust = adjust,
    .build = build,
    .claims = claims,
    .mutants = embedding_grouped_mutants,
    .num_mutants = EMBEDDING_GROUPED_NUM_MUTANTS,
    .row_fields = "ids y",
};
