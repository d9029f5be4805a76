/* SPDX-License-Identifier: MIT
 *
 * A next-token distribution from a row of logits, and how far two of them lie apart. All in
 * binary64: rows of binary32 logits carry no rounding of ours into a comparison.
 */
#ifndef QUALITY_DISTRIBUTION_H
#define QUALITY_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

enum { DISTRIBUTION_TOP = 5 };

/* softmax(logits); of caller-owned memory. */
struct distribution {
    int64_t count;
    double *log_p, *p;             /* [count] */
    int32_t top[DISTRIBUTION_TOP]; /* by falling logit, of equal ones the smaller id first */
    int num_top;                   /* less than DISTRIBUTION_TOP in a small vocabulary */
    bool finite;                   /* no NaN and no +infinity among the logits */
};

/* NULL members on failure; free in any case. */
bool distribution_alloc(struct distribution *d, int64_t count);
void distribution_free(struct distribution *d);

void distribution_of_f32(struct distribution *d, const float *logits);
void distribution_of_f64(struct distribution *d, const double *logits);

/* How two distributions over the same tokens differ, `base` first. */
struct distribution_change {
    double kl;      /* KL(base || other) in nats, never negative; exactly 0 for equal logits */
    double right;   /* p_other(target) - p_base(target) */
    bool same_top;  /* the same likeliest token */
    int shared_top; /* tokens that both have among their first DISTRIBUTION_TOP */
};
struct distribution_change distribution_compare(const struct distribution *base,
                                                const struct distribution *other, int32_t target);

#endif
