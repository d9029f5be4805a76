/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append with one planted fault each, and the control: the same code with none, which
 * must pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "qk_norm_rope_append_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

typedef struct assay_qk_norm_rope_append_args args_type;

static int64_t start_of(const args_type *a, enum fault fault)
{
    int64_t at = a->start_at.data == NULL ? a->start : oracle_get_int(&a->start_at, 0);
    if (fault == START_AT_IGNORED || at > a->start)
        at = a->start;
    return (at < 0 ? 0 : at) + (fault == START_PLUS_ONE);
}

static int64_t position_of(const args_type *a, int64_t t, int64_t pair, enum fault fault)
{
    int64_t axis = 0;
    for (int64_t i = 1; i < 3 && a->positions.rank == 2 && fault != ONE_AXIS; i++)
        if (pair % 3 == i && pair < 3 * a->sections[i])
            axis = i;
    if (fault == POSITION_FROM_SLOT)
        return start_of(a, fault) + t;
    return oracle_get_int(&a->positions, axis * a->q.extent[0] + t) + (fault == SHIFTED);
}

static double angle_of(const args_type *a, int64_t t, int64_t pair, int64_t rotated,
                       enum fault fault)
{
    double position = (double)position_of(a, t, pair, fault);
    double frequency = pow(a->theta, -2.0 * (double)pair / (double)rotated);
    double angle = position * frequency;
    if (fault == BINARY32_ANGLE)
        angle = (double)((float)position * (float)frequency);
    return fault == SIGN ? -angle : angle;
}

static void rotate(const args_type *a, int64_t t, double *x, enum fault fault)
{
    int64_t rotated = fault == ALL_DIMENSIONS ? a->q.extent[2] / 2 * 2 : a->rotary_dim;
    int64_t half = rotated / 2;
    for (int64_t pair = 0; pair < half; pair++) {
        int64_t low = fault == INTERLEAVED ? 2 * pair : pair;
        int64_t high = fault == INTERLEAVED ? 2 * pair + 1 : pair + half;
        double phi = angle_of(a, t, pair, rotated, fault), u = x[low], v = x[high];
        x[low] = u * cos(phi) - v * sin(phi);
        x[high] = v * cos(phi) + u * sin(phi);
    }
}

/* Mean of the squares of x[0, count). */
static double mean_square(const double *x, int64_t count, enum fault fault)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += fault == BINARY32_SQUARES ? (double)((float)x[i] * (float)x[i]) : x[i] * x[i];
    return sum / (double)count;
}

/* One token's heads, one after the other in x. */
static void normalise(const args_type *a, const struct assay_tensor *weight, int64_t heads,
                      double *x, enum fault fault)
{
    int64_t width = a->q.extent[2];
    int64_t count = fault == NORM_OVER_ROTATED ? a->rotary_dim : width;
    for (int64_t h = 0; h < heads; h++) {
        double *head = x + h * width;
        double mean = fault == NORM_OVER_HEADS && h == 0 ? mean_square(x, heads * width, fault)
                                                         : mean_square(head, count, fault);
        double root = fault == EPS_OUTSIDE_ROOT ? sqrt(mean) + a->eps : sqrt(mean + a->eps);
        for (int64_t i = 0; i < count; i++) {
            double w = oracle_get(weight, i);
            double n = head[i] / root * (a->unit_offset && fault != OFFSET_IGNORED ? 1 + w : w);
            head[i] = oracle_round(n, fault == N_IN_BF16 ? ASSAY_BF16 : ASSAY_F32);
        }
    }
}

static void prepare(const args_type *a, const struct assay_tensor *weight, int64_t t, int64_t heads,
                    double *x, enum fault fault)
{
    int64_t width = a->q.extent[2];
    for (int64_t h = 0; h < heads && fault == ROTATED_FIRST; h++)
        rotate(a, t, x + h * width, fault);
    normalise(a, weight, heads, x, fault);
    for (int64_t h = 0; h < heads && fault != ROTATED_FIRST; h++)
        rotate(a, t, x + h * width, fault);
}

static void take_q(const args_type *a, int64_t t, double *x, enum fault fault)
{
    int64_t heads = a->q.extent[1], width = a->q.extent[2], count = heads * width;
    struct assay_tensor q = a->q;
    if (fault == Q_STRIDE)
        q.stride[1] = width;
    for (int64_t i = 0; i < count; i++)
        x[i] = oracle_get(&q, t * count + i);
    prepare(a, &a->q_weight, t, heads, x, fault);
    if (fault == ONE_ELEMENT && t == 0)
        x[count / 2] *= 1 + 0x1p-7;
    for (int64_t i = 0; i < count; i++)
        oracle_put(&a->q_out, t * count + i, x[i]);
}

/* Cut to bf16 instead of rounded. */
static double truncated(double value)
{
    uint16_t nearest = oracle_bf16_word(value);
    bool rounded_up = fabs(oracle_bf16_value(nearest)) > fabs(value);
    return isfinite(value) ? oracle_bf16_value(rounded_up ? (uint16_t)(nearest - 1) : nearest)
                           : value;
}

/* The next larger magnitude, of f32 the next that bf16 has. */
static double next_value(double value)
{
    return isfinite(value) ? oracle_bf16_value((uint16_t)(oracle_bf16_word(value) + 1)) : value;
}

static void store_slot(const struct assay_tensor *cache, int64_t slot, const double *x,
                       enum fault fault)
{
    int64_t width = cache->extent[2], count = cache->extent[1] * width;
    if (slot >= cache->extent[0])
        return;
    for (int64_t i = 0; i < count; i++) {
        int64_t head = fault == HEADS_SWAPPED ? cache->extent[1] - 1 - i / width : i / width;
        double value = oracle_round(x[i], ASSAY_F32);
        if (fault == CACHE_TRUNCATED && cache->dtype == ASSAY_BF16)
            value = truncated(value);
        oracle_put(cache, slot * count + head * width + i % width, value);
    }
}

static void take_kv(const args_type *a, int64_t t, double *x, enum fault fault)
{
    int64_t groups = a->k.extent[1], count = groups * a->k.extent[2];
    int64_t v_width = a->v.extent[2], v_count = groups * v_width;
    int64_t slot = start_of(a, fault) + t;
    for (int64_t i = 0; i < count; i++)
        x[i] = oracle_get(&a->k, t * count + i);
    if (fault == K_NOT_ROTATED)
        normalise(a, &a->k_weight, groups, x, fault);
    else if (fault != K_APPENDED_RAW)
        prepare(a, fault == Q_WEIGHT_FOR_K ? &a->q_weight : &a->k_weight, t, groups, x, fault);
    store_slot(&a->k_cache, slot, x, fault);
    for (int64_t i = 0; i < v_count; i++)
        x[i] = fault == VALUE_FROM_KEY ? oracle_get(&a->k, (t * count + i) % (count * (t + 1)))
                                       : oracle_get(&a->v, t * v_count + i);
    for (int64_t i = 0; i < v_count && fault == V_TABLE_SHIFTED; i++)
        x[i] = next_value(x[i]);
    for (int64_t h = 0; h < groups && fault == V_NORMALISED; h++) {
        double root = sqrt(mean_square(x + h * v_width, v_width, fault) + a->eps);
        for (int64_t i = 0; i < v_width; i++)
            x[h * v_width + i] /= root;
    }
    store_slot(&a->v_cache, slot, x,
               HEADS_SWAPPED == fault || CACHE_TRUNCATED == fault ? NONE : fault);
}

static assay_status run(const void *args, enum fault fault)
{
    const args_type *a = args;
    int64_t q = a->q.extent[1] * a->q.extent[2], k = a->k.extent[1] * a->k.extent[2];
    int64_t v = a->v.extent[1] * a->v.extent[2];
    double *x = calloc((size_t)(q + k + v), sizeof *x);
    if (x == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t t = 0; t < a->q.extent[0]; t++) {
        take_q(a, t, x, fault);
        take_kv(a, t, x, fault);
    }
    free(x);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("qk_norm_rope_append", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant qk_norm_rope_append_mutants[QK_NORM_ROPE_APPEND_NUM_MUTANTS] = {
    FAULT_TABLE(ROW)};
