/* SPDX-License-Identifier: MIT
 *
 * Running the ops' cases without judging the result: the same memory before, all bits after.
 */
#ifndef PROPERTIES_API_CASE_RUNS_H
#define PROPERTIES_API_CASE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "trial.h"

/* Bytes of all buffers of the trial, guards included. */
size_t case_run_bytes(const struct trial *trial);
/* Copies them. */
void case_run_copy(const struct trial *trial, unsigned char *bits);
/* Restores the trial (inputs as built, outputs poisoned), forces the case's route and runs. */
assay_status case_run(assay_context *context, struct trial *trial);
/* Whether this machine has what the case's route needs and the route takes the case. */
bool case_run_accepted(const struct trial *trial);

#endif
