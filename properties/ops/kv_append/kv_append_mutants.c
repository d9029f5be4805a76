/* SPDX-License-Identifier: MIT
 *
 * kv_append with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "kv_append_mutants.h"

#include <math.h>
#include <string.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* What the cache gets instead of x; its own rounding then changes nothing. */
static double distort(double x, enum assay_dtype dtype, enum fault fault)
{
    double nearest = oracle_round(x, dtype);
    if (fault == OVERFLOW_CLAMPED && isinf(nearest) && isfinite(x))
        return copysign(oracle_max_finite(dtype), x);
    if (!isfinite(x) || nearest == x || dtype != ASSAY_BF16)
        return x;
    double step = 2 * oracle_half_ulp(fabs(x), dtype);
    if (fault == TRUNCATION && fabs(nearest) > fabs(x))
        return copysign(fabs(nearest) - step, x);
    if (fault == TIES_AWAY && fabs(x) - fabs(nearest) == step / 2)
        return copysign(fabs(nearest) + step, x);
    return x;
}

/* The slot of row 0. */
static int64_t start_of(const struct assay_kv_append_args *a, enum fault fault)
{
    int64_t at = a->start_at.data == NULL ? a->start : oracle_get_int(&a->start_at, 0);
    if (fault == START_AT_IGNORED || at > a->start || (fault == START_AT_SIGNED && at < 0))
        return a->start;
    return at < 0 ? 0 : at;
}

static void append(const struct assay_tensor *rows, const struct assay_tensor *cache, int64_t start,
                   enum fault fault)
{
    int64_t heads = cache->extent[1], width = cache->extent[2];
    int64_t first = fault == START_ZERO ? 0 : start + (fault == START_PLUS_ONE);
    for (int64_t i = 0; i < assay_tensor_count(rows); i++) {
        int64_t row = i / width, d = i % width, slot = first + row / heads, head = row % heads;
        if (slot >= cache->extent[0] || (fault == TAIL_SKIPPED && width > 8 && d >= width / 8 * 8))
            continue;
        if (fault == HEADS_SWAPPED)
            head = heads - 1 - head;
        double x = distort(oracle_get(rows, i), cache->dtype, fault);
        if (fault == ONE_ELEMENT && i == width / 2)
            x *= 1 + 0x1p-7;
        oracle_put(cache, (slot * heads + head) * width + d, x);
    }
    int64_t next = first + rows->extent[0];
    if (fault == NEXT_SLOT && next < cache->extent[0])
        for (int64_t i = 0; i < heads * width; i++)
            oracle_put(cache, next * heads * width + i, 0);
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_kv_append_args *a = args;
    struct assay_tensor k = a->k, v = a->v;
    if (fault == HEAD_STRIDE)
        k.stride[1] = k.extent[2];
    if (fault == VALUE_FROM_KEY && k.extent[2] >= v.extent[2]) {
        v = k;
        v.extent[2] = a->v.extent[2];
    }
    append(&k, &a->k_cache, start_of(a, fault), fault);
    append(&v, &a->v_cache, start_of(a, fault), fault);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("kv_append", ASSAY_PROFILE_EXACT, __VA_ARGS__)

const struct case_mutant kv_append_mutants[KV_APPEND_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
