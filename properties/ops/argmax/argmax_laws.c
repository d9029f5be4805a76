/* SPDX-License-Identifier: MIT
 *
 * argmax's laws and its bad calls. Clauses tested here or by the sweep (argmax.route.cpu):
 * [ARGMAX-1] everywhere and ties; [ARGMAX-2] limit, the sweep's poisoned padding, and errors;
 * [ARGMAX-3] sweep; [ARGMAX-4] specials and the sweep's distribution nonfinite; [ARGMAX-5] the
 * sweep's guards and errors.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "bad_calls.h"
#include "laws.h"
#include <assay/ops/argmax.h>

enum { MOST = 67 };

static int32_t one(assay_context *context, float *row, int64_t limit)
{
    int32_t id = -7;
    struct assay_argmax_args args = {.logits = assay_tensor_2d(row, ASSAY_F32, 1, MOST),
                                     .ids = assay_tensor_1d(&id, ASSAY_I32, 1),
                                     .limit = limit};
    cr_assert_eq(assay_argmax(context, &args), ASSAY_OK);
    return id;
}

static void fill(float row[MOST], float value)
{
    for (int i = 0; i < MOST; i++)
        row[i] = value;
}

/* A single maximum at every place, for every limit, among negative, zero and infinite numbers
 * [ARGMAX-1] [ARGMAX-2]: a maximum at or beyond the limit is not seen. */
static void everywhere_body(assay_context *context, const char *route)
{
    const struct {
        float rest, top;
    } pairs[] = {{-3, -2}, {0, 1}, {-1e30f, -1e29f}, {-INFINITY, -3e38f}, {1, INFINITY}};
    float row[MOST];
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        for (int64_t limit = 1; limit <= MOST; limit++) {
            for (int at = 0; at < MOST; at++) {
                fill(row, pairs[p].rest);
                row[at] = pairs[p].top;
                int32_t id = one(context, row, limit), expected = at < limit ? at : 0;
                cr_assert_eq(id, expected, "%s: maximum at %d, limit %d, gives %d", route, at,
                             (int)limit, id);
            }
        }
    }
}

Test(argmax, everywhere)
{
    each_route(&assay_op_argmax, everywhere_body);
}

/* Two equal maxima: the first one, also for a zero of either sign [ARGMAX-1]. */
static void ties_body(assay_context *context, const char *route)
{
    float row[MOST];
    for (int second = 1; second < MOST; second++) {
        for (int first = 0; first < second; first += 1 + second % 3) {
            fill(row, -1);
            row[first] = -0.0f;
            row[second] = 0.0f;
            int32_t id = one(context, row, MOST);
            cr_assert_eq(id, first, "%s: zeros at %d and %d give %d", route, first, second, id);
        }
    }
}

Test(argmax, ties)
{
    each_route(&assay_op_argmax, ties_body);
}

/* A NaN anywhere below the limit gives -1, whatever stands beside it; beyond it none does; rows of
 * -inf give 0 [ARGMAX-4]. */
static void specials_body(assay_context *context, const char *route)
{
    const float fills[] = {-1, 2, INFINITY, -INFINITY};
    float row[MOST];
    for (size_t k = 0; k < sizeof fills / sizeof fills[0]; k++) {
        for (int at = 0; at < MOST; at++) {
            fill(row, fills[k]);
            cr_assert_eq(one(context, row, MOST), 0, "%s", route);
            row[at] = at % 2 ? NAN : -NAN;
            for (int64_t limit = 1; limit <= MOST; limit += limit < 60 ? 7 : 1) {
                int32_t id = one(context, row, limit);
                cr_assert_eq(id, at < limit ? -1 : 0, "%s: NaN at %d, limit %d, gives %d", route,
                             at, (int)limit, id);
            }
        }
    }
}

Test(argmax, specials)
{
    each_route(&assay_op_argmax, specials_body);
}

/* Every documented error [ARGMAX-2] [ARGMAX-5]. */
Test(argmax, errors)
{
    enum { T = 2, V = 8 };
    float logits[T * V] = {0};
    int32_t ids[T * V];
    const struct assay_argmax_args good = {.logits = assay_tensor_2d(logits, ASSAY_F32, T, V),
                                           .ids = assay_tensor_1d(ids, ASSAY_I32, T),
                                           .limit = V - 1};
    struct bad_calls *calls = bad_calls_new(&assay_op_argmax, &good, ids, sizeof ids);
#define BAD(status, argument, change) \
    BAD_CALL(struct assay_argmax_args, a, status, argument, change, #change)

    BAD(ASSAY_E_ARG, "logits", a.logits.data = NULL);
    BAD(ASSAY_E_ARG, "ids", a.ids.data = NULL);
    BAD(ASSAY_E_ARG, "limit", a.limit = 0);
    BAD(ASSAY_E_ARG, "limit", a.limit = -1);
    BAD(ASSAY_E_ARG, "limit", a.limit = V + 1);
    BAD(ASSAY_E_ARG, "limit", a.logits.extent[1] = 0);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.rank = 1);
    BAD(ASSAY_E_SHAPE, "logits", a.logits.extent[0] = -1);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.rank = 2);
    BAD(ASSAY_E_SHAPE, "ids", a.ids.extent[0] = T + 1);
    BAD(ASSAY_E_FORMAT, "logits", a.logits.dtype = ASSAY_F16);
    BAD(ASSAY_E_FORMAT, "ids", a.ids.dtype = ASSAY_I64);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.stride[1] = 2);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.stride[0] = -V);
    BAD(ASSAY_E_LAYOUT, "ids", a.ids.stride[0] = 0);
    BAD(ASSAY_E_LAYOUT, "logits", a.logits.data = (char *)logits + 1);
    BAD(ASSAY_E_ALIAS, "ids", a.logits.data = ids);
#undef BAD
    bad_calls_finish(calls);
}
