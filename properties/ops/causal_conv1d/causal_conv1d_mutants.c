/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d with one planted fault each, and the control: the same code with none, which must
 * pass. Written against the contract only; shares nothing with the engine's routes.
 */
#include "causal_conv1d_mutants.h"

#include <math.h>
#include <stdlib.h>

#include "words.h"

enum fault { FAULT_TABLE(MUTANT_ENUM) };

/* Row i of [state | x] in channel c. */
static double history(const struct assay_causal_conv1d_args *a, int64_t i, int64_t c)
{
    int64_t kept = a->state.extent[0], channels = a->w.extent[0];
    return i < kept ? oracle_get(&a->state, i * channels + c)
                    : oracle_get(&a->x, (i - kept) * channels + c);
}

static double output(const struct assay_causal_conv1d_args *a, int64_t t, int64_t c,
                     enum fault fault)
{
    int64_t taps = a->w.extent[1];
    double sum = 0;
    for (int64_t j = 0; j < taps; j++) {
        int64_t tap = fault == TAPS_REVERSED ? taps - 1 - j : j;
        if (fault == STATE_IGNORED && t + j < taps - 1)
            continue;
        sum += oracle_get(&a->w, c * taps + tap) * history(a, t + j, c);
    }
    if (fault == ROUNDED_BETWEEN)
        sum = oracle_round(sum, ASSAY_BF16);
    return a->silu && fault != NO_SILU ? sum / (1 + exp(-sum)) : sum;
}

/* The state's new rows, into kept[rows, C]. */
static void new_state(const struct assay_causal_conv1d_args *a, double *kept, const double *y,
                      enum fault fault)
{
    int64_t tokens = a->x.extent[0], rows = a->state.extent[0], channels = a->w.extent[0];
    for (int64_t i = 0; i < rows * channels; i++) {
        int64_t row = tokens + i / channels, c = i % channels;
        if (fault == SHORT_CALL_SHIFT && tokens < rows) /* the start clamped to the first token */
            row = i / channels < tokens ? rows + i / channels : i / channels;
        kept[i] = history(a, row, c);
        if (fault == STATE_AFTER_SILU && row >= rows)
            kept[i] = y[(row - rows) * channels + c];
    }
}

static assay_status run(const void *args, enum fault fault)
{
    const struct assay_causal_conv1d_args *a = args;
    int64_t channels = a->w.extent[0], count = assay_tensor_count(&a->x);
    int64_t state_count = assay_tensor_count(&a->state);
    double *y = malloc((size_t)(count + state_count + 1) * sizeof *y), *kept = y + count;
    if (y == NULL)
        return ASSAY_E_MEMORY;
    for (int64_t i = 0; i < count; i++)
        y[i] = output(a, i / channels, i % channels, fault);
    if (fault == ONE_ELEMENT && count > 0)
        y[count / 2] *= 1 + 0x1p-7;
    new_state(a, kept, y, fault);
    for (int64_t i = 0; i < count; i++)
        oracle_put(&a->y, i, y[i]);
    for (int64_t i = 0; i < state_count && fault != STATE_LOST; i++)
        oracle_put(&a->state, i, kept[i]);
    free(y);
    return ASSAY_OK;
}

FAULT_TABLE(MUTANT_RUN)

#define ROW(...) MUTANT("causal_conv1d", ASSAY_PROFILE_F32, __VA_ARGS__)

const struct case_mutant causal_conv1d_mutants[CAUSAL_CONV1D_NUM_MUTANTS] = {FAULT_TABLE(ROW)};
