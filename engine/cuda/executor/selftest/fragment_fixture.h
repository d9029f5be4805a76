/* SPDX-License-Identifier: MIT
 *
 * Reads the fixtures of golden/device.
 */
#ifndef EXECUTOR_FRAGMENT_FIXTURE_H
#define EXECUTOR_FRAGMENT_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cuda/executor/selftest/fragment_kernels.h"

struct fragment_case {
    const struct fragment_op *op;
    bool exact; /* the device's sum is exact whatever its order */
    uint32_t in[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
    uint32_t out[FRAGMENT_LANES * FRAGMENT_MAX_WORDS];
};

/* 1: a case, 0: the end line, -1: neither. */
int fragment_read(FILE *file, struct fragment_case *c);

#endif
