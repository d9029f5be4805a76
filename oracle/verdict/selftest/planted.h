/* SPDX-License-Identifier: MIT
 *
 * An output and a reference made by hand: what the verdict's own tests compare.
 */
#ifndef ORACLE_VERDICT_PLANTED_H
#define ORACLE_VERDICT_PLANTED_H

#include <criterion/criterion.h>

#include <stdlib.h>

#include "verdict.h"
#include "words.h"

struct planted {
    struct assay_tensor tensor;
    float *actual; /* the tensor's memory; floats only when its format is f32 */
    struct oracle_output reference;
};

static inline void planted_put(struct planted *p, int64_t index, double value)
{
    oracle_put(&p->tensor, index, value);
}

/* Reference `value` with one term `products`, and a route that gives exactly this value. */
static inline void planted_set(struct planted *p, int64_t index, double value, double products)
{
    p->reference.value[index] = value;
    p->reference.term[ORACLE_TERM_PRODUCTS][index] = products;
    planted_put(p, index, value);
}

/* All zero. */
static inline struct planted planted_new(enum assay_dtype dtype, int64_t count)
{
    struct planted p = {.actual = calloc((size_t)count, sizeof(float))};
    cr_assert_not_null(p.actual);
    p.tensor = assay_tensor_1d(p.actual, dtype, count);
    cr_assert(oracle_output_create(&p.reference, "y", dtype, count));
    return p;
}

static inline struct verdict planted_compare(const struct planted *p, double ceiling, bool exact)
{
    struct verdict v;
    verdict_compare(&p->tensor, &p->reference, ceiling, exact, &v);
    return v;
}

static inline void planted_free(struct planted *p)
{
    free(p->actual);
    oracle_output_destroy(&p->reference);
}

#endif
