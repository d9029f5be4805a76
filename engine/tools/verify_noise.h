/* SPDX-License-Identifier: MIT
 *
 * assay verify --noise.
 */
#ifndef TOOLS_VERIFY_NOISE_H
#define TOOLS_VERIFY_NOISE_H

#include "verify.h"

/* Of the cases of each op's first route among cases[0, num_cases): how much of their bounds random
 * rounding uses, a line an op. Returns the program's status. */
int verify_noise_report(const struct assay_case *cases, int64_t num_cases);
/* The same of one case that has run, at its worst element. */
void verify_noise_print(const struct assay_case *c, const struct verdict *verdict);

#endif
