/* SPDX-License-Identifier: MIT
 *
 * attention with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "attention_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

struct row {
    const struct assay_attention_args *a;
    enum fault fault;
    int64_t token, head, key_head, num_keys;
    double *weight;
};

/* Where query 0 stands. */
static int64_t start_of(const struct assay_attention_args *a, enum fault fault)
{
    int64_t at = a->start_at.data == NULL ? a->start : oracle_get_int(&a->start_at, 0);
    if (fault == START_AT_IGNORED || at > a->start || (fault == START_AT_SIGNED && at < 0))
        return a->start;
    return at < 0 ? 0 : at;
}

static int64_t key_head_of(const struct assay_attention_args *a, int64_t head, enum fault fault)
{
    int64_t key_heads = a->k_cache.extent[1], ratio = a->q.extent[1] / key_heads;
    if (fault == HEAD_MODULO)
        return head % key_heads;
    if (fault == HEAD_SHIFT) {
        int64_t rounded = 1;
        while (rounded < ratio)
            rounded *= 2;
        return head / rounded;
    }
    return head / ratio;
}

/* Element d of a query or gate; HALVES takes both as halves of the token's whole packed row. */
static double get(const struct row *r, const struct assay_tensor *tensor, int64_t d, bool is_gate)
{
    const struct assay_attention_args *a = r->a;
    int64_t heads = a->q.extent[1], width = tensor->extent[2];
    const char *gate = a->gate.data, *q = a->q.data;
    size_t size = assay_dtype_bytes(a->q.dtype);
    if (r->fault == HALVES && gate == q + (size_t)a->q.extent[2] * size &&
        a->q.stride[1] == a->q.extent[2] + a->gate.extent[2]) {
        int64_t at = (is_gate ? heads * a->q.extent[2] : 0) + r->head * width + d;
        struct assay_tensor whole = assay_tensor_1d(
            (char *)a->q.data + (size_t)(r->token * a->q.stride[0]) * size, a->q.dtype, at + 1);
        return oracle_get(&whole, at);
    }
    return oracle_get(tensor, (r->token * heads + r->head) * width + d);
}

static double gate_of(const struct row *r, int64_t d)
{
    double x = get(r, &r->a->gate, d, true), sigmoid = 1 / (1 + exp(-x));
    return r->fault == GATE_SILU ? x * sigmoid : sigmoid;
}

static double score_of(const struct row *r, int64_t j)
{
    const struct assay_attention_args *a = r->a;
    int64_t width = a->q.extent[2], last = r->fault == DIMENSION && width > 1 ? width - 1 : width;
    double sum = 0, scale = r->fault == NO_SCALE ? 1 : a->scale;
    if (r->fault == SCALE_SQUARED)
        scale *= a->scale;
    for (int64_t d = 0; d < last; d++) {
        double q = get(r, &a->q, d, false);
        if (r->fault == GATE_ON_QUERY && a->gate.data != NULL && d < a->gate.extent[2])
            q *= gate_of(r, d);
        sum += q * oracle_get(&a->k_cache, (j * a->k_cache.extent[1] + r->key_head) * width + d);
    }
    return sum * scale;
}

/* Fills the weights and returns what they are divided by. */
static double weigh(const struct row *r)
{
    enum fault fault = r->fault;
    double top = fault == SENTINEL ? -50000 : -INFINITY, sum = 0, first_half = -INFINITY;
    int64_t padded = (r->num_keys + 15) / 16 * 16 - r->num_keys, half = r->num_keys / 2;
    for (int64_t j = 0; j < r->num_keys; j++) {
        r->weight[j] = score_of(r, j);
        top = r->weight[j] > top ? r->weight[j] : top;
        first_half = j < half ? top : first_half;
    }
    if (fault == PADDED_MAXIMUM && padded > 0 && top < 0)
        top = 0;
    if (fault == NO_MAXIMUM)
        top = 0;
    for (int64_t j = 0; j < r->num_keys; j++) {
        double score = r->weight[j];
        /* as a binary32 kernel has it: below 2^-149 nothing is left, above 2^128 infinity */
        double w = (double)(float)exp(score - top);
        r->weight[j] = fault == BF16_WEIGHTS ? oracle_round(w, ASSAY_BF16) : w;
        if (fault == STALE_MAXIMUM && j < half)
            w = exp(score - first_half);
        if (fault != SUM_PARTIAL || j > 0 || r->num_keys == 1)
            sum += w;
    }
    if (fault == PADDED_SUM)
        sum += (double)padded * exp(-top);
    for (int64_t j = r->num_keys;
         fault == SUM_UNMASKED && j < start_of(r->a, fault) + r->a->q.extent[0]; j++)
        sum += exp(score_of(r, j) - top);
    return sum;
}

static int64_t value_index(const struct row *r, int64_t row, int64_t d)
{
    const struct assay_attention_args *a = r->a;
    int64_t pitch = a->v_cache.extent[2];
    if (r->fault == VALUE_PITCH && a->q.extent[2] < pitch) /* a wider one would leave the cache */
        pitch = a->q.extent[2];
    return row * pitch + d;
}

static void attend(const struct row *r)
{
    const struct assay_attention_args *a = r->a;
    int64_t width = a->v_cache.extent[2], key_heads = a->v_cache.extent[1];
    int64_t row = r->token * a->q.extent[1] + r->head;
    int64_t value_head = r->key_head;
    double divisor = weigh(r), gates[512];
    if (r->fault == VALUE_NEIGHBOUR)
        value_head = (value_head + 1) % key_heads;
    for (int64_t d = 0; d < width && a->gate.data != NULL; d++)
        gates[d] = r->fault == NO_GATE || r->fault == GATE_ON_QUERY ? 1 : gate_of(r, d);
    for (int64_t d = 0; d < width; d++) {
        double sum = 0;
        for (int64_t j = 0; j < r->num_keys; j++) {
            sum += r->weight[j] *
                   oracle_get(&a->v_cache, value_index(r, j * key_heads + value_head, d));
            if (r->fault == FP16_SUM)
                sum = oracle_round(sum, ASSAY_F16);
        }
        double value = sum / divisor * (a->gate.data != NULL ? gates[d] : 1);
        if (r->fault == ONE_ELEMENT && row == 0 && d == width / 2)
            value *= 1 + 0x1p-7; /* one bf16 step: lost in any norm over a large output */
        oracle_put(&a->y, row * width + d, value);
        if (r->fault == BLOCK_STORE && d >= 16)
            oracle_put(&a->y, row * width + d % 16, value);
    }
}

static int64_t num_keys(const struct assay_attention_args *a, int64_t token, enum fault fault)
{
    int64_t count = (fault == START_IGNORED ? 0 : start_of(a, fault)) + token + 1;
    if (fault == FUTURE_KEY && count < a->k_cache.extent[0])
        return count + 1;
    if (fault == OWN_KEY_MASKED && count > 1)
        return count - 1;
    if (fault == TAIL_SKIPPED && count > 8)
        return count / 8 * 8;
    return count;
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_attention_args *a = args;
    double *weight = malloc((size_t)(a->start + a->q.extent[0] + 1) * sizeof *weight);
    if (weight == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t token = 0; token < a->q.extent[0]; token++) {
        for (int64_t head = 0; head < a->q.extent[1]; head++) {
            struct row r = {
                a,     fault, token, head, key_head_of(a, head, fault), num_keys(a, token, fault),
                weight};
            attend(&r);
        }
    }
    free(weight);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("attention", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant attention_mutants[ATTENTION_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
