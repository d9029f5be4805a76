/* SPDX-License-Identifier: MIT
 *
 * Checks of the encoders' choices against the oracle: every byte of maxabs, the best of 25 ratios,
 * bounds of the grouped search, idempotence and mirrored rows.
 */
#include "weight_checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "oracle_formats.h"
#include "weight_planes_guarded.h"
#include "words.h"

/* Errors are compared up to the rounding of the encoder's own binary64 sums. */
#define ROUNDING 1e-12L

enum { MOST_COLUMNS = 1024 };

/* A row that was encoded, group by group. */
struct encoded_row {
    enum assay_weight_format format;
    struct oracle_weight_format f;
    struct assay_encode_options options;
    const char *kind;
    struct guarded planes;
    int64_t columns;
    float values[MOST_COLUMNS + ORACLE_GROUP_MAX];
    float importance[MOST_COLUMNS + ORACLE_GROUP_MAX]; /* 1 where none is given */
};

typedef const char *group_check(const struct encoded_row *row, int64_t group, const float *x,
                                const float *importance, const struct oracle_group *stored);

static void read_group(const struct encoded_row *row, int64_t group, struct oracle_group *stored)
{
    stored->scale = oracle_weight_scale_word(&row->planes.weights, 0, group);
    for (int k = 0; k < row->f.group; k++)
        stored->code[k] = oracle_weight_code(&row->planes.weights, 0, group * row->f.group + k);
}

static const char *each_group(const struct encoded_row *row, group_check *check)
{
    int64_t at_row, at_column;
    const char *fault = oracle_weights_fault(
        &row->planes.weights, row->options.allow_negative_scales, &at_row, &at_column);
    for (int64_t g = 0; g * row->f.group < row->columns && fault == NULL; g++) {
        struct oracle_group stored;
        read_group(row, g, &stored);
        fault = check(row, g, row->values + g * row->f.group, row->importance + g * row->f.group,
                      &stored);
    }
    return fault;
}

static const char *encode_kind(const struct weight_codec *codec, struct encoded_row *row, int kind,
                               uint64_t seed, group_check *check)
{
    row->kind = row_kind_name(kind);
    row->f = oracle_weight_format(row->format);
    memset(row->values, 0, sizeof row->values);
    row_fill(kind, seed, row->format, row->values, row->columns);
    for (int64_t k = 0; k < row->columns; k++)
        row->importance[k] = row->options.importance != NULL ? row->options.importance[k] : 1;
    guarded_create(row->format, 1, row->columns, 0, &row->planes);
    const char *fault = "a row is refused";
    if (codec->encode(&row->planes.weights, 0, row->values, &row->options, NULL) == ASSAY_OK)
        fault = each_group(row, check);
    guarded_destroy(&row->planes);
    if (fault == NULL)
        return NULL;
    char copy[384];
    snprintf(copy, sizeof copy, "%s", fault);
    return weight_check_says("%s %s, %d columns, %s values, seed %d: %s",
                             assay_weight_format_name(row->format),
                             assay_weight_encoder_name(row->options.encoder), (int)row->columns,
                             row->kind, (int)seed, copy);
}

/* All kinds, formats and some widths. */
static const char *all_rows(const struct weight_codec *codec, bool quick,
                            struct assay_encode_options options, group_check *check)
{
    static const int64_t widths[] = {1024, 65, 200, 1, 63, 64, 128};
    static struct encoded_row row;
    const char *fault = NULL;
    for (size_t i = 0; i < (quick ? 2 : sizeof widths / sizeof widths[0]); i++)
        for (row.format = ASSAY_WEIGHT_Q4G64; row.format < ASSAY_NUM_WEIGHT_FORMATS; row.format++)
            for (int kind = 0; kind < NUM_ROW_KINDS && fault == NULL; kind++) {
                row.options = options;
                row.columns = widths[i];
                fault = encode_kind(codec, &row, kind, i + 1, check);
            }
    return fault;
}

static const char *same_group(int64_t group, int count, const struct oracle_group *stored,
                              const struct oracle_group *expected)
{
    if (stored->scale != expected->scale)
        return weight_check_says("group %d: scale %04x, not %04x", (int)group, stored->scale,
                                 expected->scale);
    for (int k = 0; k < count; k++)
        if (stored->code[k] != expected->code[k])
            return weight_check_says("group %d, scale %04x: code %d is %d, not %d", (int)group,
                                     stored->scale, k, stored->code[k], expected->code[k]);
    return NULL;
}

/* Any encoder's codes follow from its scale. */
static const char *codes_follow(const struct encoded_row *row, int64_t group, const float *x,
                                const struct oracle_group *stored)
{
    struct oracle_group expected = {.scale = stored->scale};
    if (stored->scale != 0)
        oracle_group_codes(x, row->f.group, row->f, &expected);
    return same_group(group, row->f.group, stored, &expected);
}

/* ---- maxabs ---------------------------------------------------------------------------------- */

static const char *equals_maxabs(const struct encoded_row *row, int64_t group, const float *x,
                                 const float *importance, const struct oracle_group *stored)
{
    (void)importance;
    struct oracle_group expected;
    if (!oracle_group_maxabs(x, row->f.group, row->f, &expected))
        return "the oracle refuses the row";
    return same_group(group, row->f.group, stored, &expected);
}

/* bf16 has no groups: each word is the value's nearest. */
static const char *bf16_rows(const struct weight_codec *codec)
{
    struct guarded planes;
    float values[300];
    const char *fault = NULL;
    guarded_create(ASSAY_WEIGHT_BF16, 1, 300, 0, &planes);
    const uint16_t *words = planes.weights.base.data;
    for (int kind = 0; kind < NUM_ROW_KINDS && fault == NULL; kind++) {
        row_fill(kind, 5, ASSAY_WEIGHT_BF16, values, 300);
        values[7] = NAN;
        values[8] = -INFINITY;
        values[9] = 0x1.fffffep127f; /* rounds to infinity */
        if (codec->encode(&planes.weights, 0, values, &(struct assay_encode_options){0}, NULL) !=
            ASSAY_OK)
            fault = "bf16: a row is refused";
        for (int k = 0; k < 300 && fault == NULL; k++)
            if (k == 7 ? !isnan(oracle_bf16_value(words[k]))
                       : words[k] != oracle_bf16_word((double)values[k]))
                fault = weight_check_says("bf16: %a becomes %04x", (double)values[k], words[k]);
    }
    guarded_destroy(&planes);
    return fault;
}

const char *weight_check_maxabs(const struct weight_codec *codec, bool quick)
{
    const char *fault = bf16_rows(codec);
    if (fault == NULL)
        fault =
            all_rows(codec, quick, (struct assay_encode_options){.encoder = ASSAY_ENCODER_MAXABS},
                     equals_maxabs);
    return fault;
}

/* ---- clip25 ---------------------------------------------------------------------------------- */

static const char *equals_clip25(const struct encoded_row *row, int64_t group, const float *x,
                                 const float *importance, const struct oracle_group *stored)
{
    (void)importance;
    struct oracle_group reference, best = {0};
    const int count = row->f.group;
    if (!oracle_group_maxabs(x, count, row->f, &reference))
        return "the oracle refuses the row";
    if (reference.scale == 0)
        return same_group(group, count, stored, &reference);
    long double least, runner_up, error = oracle_group_error(x, NULL, count, stored);
    oracle_group_clip25(x, count, row->f, &best, &least, &runner_up);
    if (error > oracle_group_error(x, NULL, count, &reference) * (1 + ROUNDING))
        return weight_check_says("group %d is worse than maxabs", (int)group);
    if (error > least * (1 + ROUNDING))
        return weight_check_says("group %d: error %Lg, the best ratio's is %Lg", (int)group, error,
                                 least);
    if (runner_up > least * (1 + ROUNDING))
        return same_group(group, count, stored, &best);
    return codes_follow(row, group, x, stored);
}

const char *weight_check_clip25(const struct weight_codec *codec, bool quick)
{
    return all_rows(codec, quick, (struct assay_encode_options){.encoder = ASSAY_ENCODER_CLIP25},
                    equals_clip25);
}

/* ---- grouped --------------------------------------------------------------------------------- */

/* Groups seen, and those in which the oracle's choice is not a matter of rounding. */
static int num_grouped, num_clear;

static const char *grouped_bounds(const struct encoded_row *row, int64_t group, const float *x,
                                  const float *importance, const struct oracle_group *stored)
{
    struct oracle_group reference, best = {0};
    const int count = row->f.group;
    const char *fault = codes_follow(row, group, x, stored);
    if (fault != NULL)
        return fault;
    if (!oracle_group_maxabs(x, count, row->f, &reference))
        return "the oracle refuses the row";
    if (reference.scale == 0)
        return same_group(group, count, stored, &reference);
    long double error = oracle_group_error(x, importance, count, stored);
    if (error > oracle_group_error(x, importance, count, &reference) * (1 + ROUNDING))
        return weight_check_says("group %d is worse than maxabs", (int)group);
    /* Each ratio is a candidate, so the error is at most that of the unweighted choice. */
    long double least, runner_up;
    oracle_group_clip25(x, count, row->f, &best, &least, &runner_up);
    if (error > oracle_group_error(x, importance, count, &best) * (1 + ROUNDING))
        return weight_check_says("group %d is worse than a ratio of clip25", (int)group);
    num_grouped++;
    if (!oracle_group_grouped(x, importance, count, row->f, row->options.allow_negative_scales,
                              &best))
        return NULL;
    num_clear++;
    return same_group(group, count, stored, &best);
}

/* Error of the search over the least possible, in sums over groups: the limits are about twice as
 * far from 1 as what was measured (docs/formats.md). */
static const struct optimum_row {
    int used; /* columns of a group, the rest is padding */
    bool negative, weighted;
    double factor[ASSAY_NUM_WEIGHT_FORMATS]; /* by format */
} optima[] = {
    {64, false, false, {0, 1.002, 1.004, 1.015, 1.15}},
    {64, true, false, {0, 1.002, 1.004, 1.015, 1.15}},
    {64, true, true, {0, 1.01, 1.03, 1.03, 1.5}},
    {12, false, true, {0, 1.08, 1.25, 1.25, 2.5}},
    {12, true, true, {0, 1.06, 1.2, 1.25, 2.5}},
};

/* Sums over many groups of normal values, `used` in each and the rest padding: error of the
 * encoder, and the least possible. */
static const char *near_optimum(const struct weight_codec *codec, enum assay_weight_format format,
                                const struct optimum_row *row, int groups)
{
    const bool negative = row->negative, weighted = row->weighted;
    const double factor = row->factor[format] + (groups < 20 ? 0.25 : 0); /* of a small sample */
    const int used = row->used;
    const struct oracle_weight_format f = oracle_weight_format(format);
    double sum = 0, least = 0;
    struct guarded planes;
    guarded_create(format, 1, used, 0, &planes);
    for (int g = 0; g < groups; g++) {
        float x[ORACLE_GROUP_MAX] = {0}, importance[ORACLE_GROUP_MAX] = {0};
        double wide[ORACLE_GROUP_MAX], weight[ORACLE_GROUP_MAX];
        for (int k = 0; k < used; k++) {
            uint64_t index = (uint64_t)(g * ORACLE_GROUP_MAX + k);
            x[k] = (float)draw_normal(11, "optimum", index);
            double u = draw_uniform(11, "importance", index);
            importance[k] = weighted ? (float)(u * u * u * u * 100) : 1;
            wide[k] = (double)x[k];
            weight[k] = (double)importance[k];
        }
        const struct assay_encode_options options = {.encoder = ASSAY_ENCODER_GROUPED,
                                                     .importance = weighted ? importance : NULL,
                                                     .allow_negative_scales = negative};
        struct oracle_group stored;
        if (codec->encode(&planes.weights, 0, x, &options, NULL) != ASSAY_OK)
            return "a row is refused";
        stored.scale = oracle_weight_scale_word(&planes.weights, 0, 0);
        for (int k = 0; k < f.group; k++)
            stored.code[k] = oracle_weight_code(&planes.weights, 0, k);
        uint16_t word;
        double best = oracle_group_optimum(wide, weight, used, f, negative, &word);
        double error = (double)oracle_group_error(x, importance, used, &stored);
        if (error < best * (1 - 1e-9))
            return weight_check_says("group %d: error %g below the optimum %g", g, error, best);
        sum += error;
        least += best;
    }
    guarded_destroy(&planes);
    if (sum > factor * least)
        return weight_check_says("%s grouped, %d values, %s scales%s: error %.4f times the optimum",
                                 assay_weight_format_name(format), used,
                                 negative ? "signed" : "positive", weighted ? ", weighted" : "",
                                 sum / least);
    return NULL;
}

const char *weight_check_grouped(const struct weight_codec *codec, bool quick)
{
    static float importance[MOST_COLUMNS];
    const char *fault = NULL;
    num_grouped = num_clear = 0;
    for (int k = 0; k < MOST_COLUMNS; k++)
        importance[k] = k % 7 == 0 ? 0 : (float)pow(draw_uniform(3, "importance", (uint64_t)k), 4);
    for (int variant = 0; variant < 4 && fault == NULL; variant++) {
        const struct assay_encode_options options = {
            .encoder = ASSAY_ENCODER_GROUPED,
            .importance = variant & 1 ? importance : NULL,
            .allow_negative_scales = (variant & 2) != 0,
        };
        fault = all_rows(codec, quick, options, grouped_bounds);
    }
    if (fault == NULL && num_clear < num_grouped / 10 * 9)
        fault = weight_check_says("only %d of %d groups can be compared", num_clear, num_grouped);
    for (size_t i = 0; i < sizeof optima / sizeof optima[0]; i++)
        for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64;
             format < ASSAY_NUM_WEIGHT_FORMATS && fault == NULL; format++) {
            int group = oracle_weight_format(format).group;
            struct optimum_row row = optima[i];
            row.used = row.used < group ? row.used : group;
            fault = near_optimum(codec, format, &row, quick ? 5 : 40);
        }
    return fault;
}

/* ---- idempotence and mirrored rows ----------------------------------------------------------- */

/* maxabs of the decoded row: where the scale s is normal the same bytes, since some code is the
 * largest, L (|x| / s is L within 2^-11 of it, and L < 2^10), L s / L is s exactly, and code * s
 * * fl32(1 / s) is the code within 2^-23 of it. Where s is subnormal: weight_check_edges. */
static const char *again(const struct weight_codec *codec, enum assay_weight_format format,
                         const float *values, bool mirrored)
{
    enum { K = 512 };
    const struct oracle_weight_format f = oracle_weight_format(format);
    const struct assay_encode_options options = {.encoder = ASSAY_ENCODER_MAXABS};
    float decoded[K];
    const char *fault = NULL;
    struct guarded first, second;
    guarded_create(format, 1, K, 0, &first);
    guarded_create(format, 1, K, 0, &second);
    if (codec->encode(&first.weights, 0, values, &options, NULL) != ASSAY_OK)
        fault = "a row is refused";
    codec->decode(&first.weights, 0, decoded);
    for (int k = 0; k < K && mirrored; k++)
        decoded[k] = -values[k];
    if (fault == NULL && codec->encode(&second.weights, 0, decoded, &options, NULL) != ASSAY_OK)
        fault = "a row is refused";
    for (int k = 0; k < K && fault == NULL; k++) {
        uint16_t scale = oracle_weight_scale_word(&first.weights, 0, k / f.group);
        int code = oracle_weight_code(&first.weights, 0, k);
        if (scale < 0x0400 && scale != 0)
            continue;
        if (oracle_weight_scale_word(&second.weights, 0, k / f.group) != scale ||
            oracle_weight_code(&second.weights, 0, k) != (mirrored ? -code : code))
            fault = weight_check_says("%s: %s row differs at column %d, code %d, scale %04x",
                                      assay_weight_format_name(format),
                                      mirrored ? "the mirrored" : "the decoded", k, code, scale);
    }
    guarded_destroy(&first);
    guarded_destroy(&second);
    return fault;
}

const char *weight_check_idempotence(const struct weight_codec *codec, bool quick)
{
    const char *fault = NULL;
    float values[512];
    for (enum assay_weight_format format = ASSAY_WEIGHT_Q4G64; format < ASSAY_NUM_WEIGHT_FORMATS;
         format++)
        for (int kind = 0; kind < NUM_ROW_KINDS; kind++)
            for (uint64_t seed = 0; seed < (quick ? 1 : 8) && fault == NULL; seed++) {
                row_fill(kind, seed, format, values, 512);
                fault = again(codec, format, values, false);
                if (fault == NULL)
                    fault = again(codec, format, values, true);
            }
    return fault;
}
