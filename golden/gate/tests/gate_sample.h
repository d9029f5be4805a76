/* SPDX-License-Identifier: MIT
 *
 * A made-up gate run for the tests of judgement, ledger, lookup and reports: no model is run.
 */
#ifndef GATE_SAMPLE_H
#define GATE_SAMPLE_H

#include "gate.h"

/* A made-up model digest. */
#define SAMPLE_MODEL "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A run of this very program under the built-in policy that meets every limit; judged. Fails the
 * test when the policy cannot be read. Free it with free(). */
struct gate_result *sample_result(void);

#endif
