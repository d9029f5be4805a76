/* SPDX-License-Identifier: MIT
 *
 * sample with negative counts where no check sees them [SAMPLE-9]: every row gives -1, whatever the
 * settings, even those under which counts do not matter. Beyond the limit they are nobody's.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "unchecked.h"
#include <assay/ops/sample.h>

enum { T = 2, MAX_COLUMNS = 8200, PADDING = 3, GUARD = 4, UNWRITTEN = -7 };

struct settings {
    double temperature, top_p, min_p, presence, frequency;
    int64_t top_k;
};

static const struct settings settings[] = {
    {0, 1, 0, 0.5, 0.25, 0},  {1, 1, 0, 0, 0, 0},          {1, 1, 0, 0.5, 0.25, 3},
    {1, 0.9, 0, 0.5, 0.5, 0}, {0.7, 0.9, 0.1, 1, 0.5, 40}, {1, 0.9, 0, 0, 0, 5000},
};

/* T ids of a call with one negative count, or of one without: -1, or tokens below the limit. */
static bool is_right(const int32_t ids[T + GUARD], bool is_negative, int64_t limit)
{
    for (int t = 0; t < T + GUARD; t++) {
        bool good = t >= T        ? ids[t] == UNWRITTEN
                    : is_negative ? ids[t] == -1
                                  : ids[t] >= 0 && ids[t] < limit;
        if (!good)
            return false;
    }
    return true;
}

/* What a route leaves that takes a negative count for none, looks at them in the first row only, or
 * returns without a word. */
static void check_faults(struct unchecked *u)
{
    static const int32_t wrong[3][T] = {{3, 1}, {-1, 1}, {-7, -7}};
    int32_t ids[T + GUARD];
    for (int k = 0; k < 4; k++) {
        for (int t = 0; t < T + GUARD; t++)
            ids[t] = t >= T ? UNWRITTEN : k < 3 ? wrong[k][t] : -1;
        unchecked_check(u, is_right(ids, true, 10) == (k == 3), "fault %d not seen", k);
    }
}

/* One negative count at `at`; the limit is PADDING below the number of columns. */
static void check_route(struct unchecked *u, const struct assay_route *route,
                        const struct settings *s, int64_t columns, int64_t at)
{
    static float logits[T * MAX_COLUMNS];
    static int32_t counts[MAX_COLUMNS];
    int32_t ids[T + GUARD];
    for (int64_t i = 0; i < T * columns; i++)
        logits[i] = (float)(i * 7919 % 2003) * 0x1p-8f;
    for (int64_t i = 0; i < columns; i++)
        counts[i] = i == at ? -1 : (int32_t)(i % 3);
    for (int t = 0; t < T + GUARD; t++)
        ids[t] = UNWRITTEN;
    void *to = unchecked_put(u, ids, sizeof ids);
    void *from = unchecked_put(u, logits, (size_t)(T * columns) * sizeof *logits);
    void *seen = unchecked_put(u, counts, (size_t)columns * sizeof *counts);
    struct assay_sample_args a = {.logits = assay_tensor_2d(from, ASSAY_F32, T, columns),
                                  .counts = assay_tensor_1d(seen, ASSAY_I32, columns),
                                  .ids = assay_tensor_1d(to, ASSAY_I32, T),
                                  .limit = columns - PADDING,
                                  .temperature = s->temperature,
                                  .top_k = s->top_k,
                                  .top_p = s->top_p,
                                  .min_p = s->min_p,
                                  .presence = s->presence,
                                  .frequency = s->frequency,
                                  .seed = 5};
    struct assay_sample_args legal = a;
    legal.counts.data = NULL;
    if (u->num_failed == 0 && unchecked_takes(u, route, &a) &&
        unchecked_run(u, &assay_op_sample, route, &legal, &a) &&
        unchecked_get(u, ids, to, sizeof ids))
        unchecked_check(u, is_right(ids, at < a.limit, a.limit),
                        "%s: V=%d, count %d, top_k=%d: ids %d %d ...", route->name, (int)columns,
                        (int)at, (int)s->top_k, (int)ids[0], (int)ids[1]);
    unchecked_forget(u);
}

int main(int argc, char **argv)
{
    struct unchecked u;
    int status;
    if (!unchecked_open(&u, argc > 1 ? argv[1] : "simt", &status))
        return status;
    check_faults(&u);
    for (int r = 0; r < assay_op_num_routes(&assay_op_sample); r++) {
        const struct assay_route *route = assay_op_route(&assay_op_sample, r);
        for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
            check_route(&u, route, &settings[k], 40, k % 2 == 0 ? 0 : 40 - PADDING - 1);
            check_route(&u, route, &settings[k], 400, 400 - PADDING - 1);
            check_route(&u, route, &settings[k], 400, 400 - PADDING); /* beyond the limit */
        }
        check_route(&u, route, &settings[3], MAX_COLUMNS, MAX_COLUMNS / 2);
    }
    return unchecked_close(&u);
}
