/* SPDX-License-Identifier: MIT
 *
 * Fuzzing an op: the bytes choose parameters, layout, distribution, route and seed of a case; the
 * oracle judges it. A target defines fuzz_op_name and nothing else.
 */
#ifndef FUZZ_OP_FUZZ_H
#define FUZZ_OP_FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern const char *const fuzz_op_name;

/* libFuzzer's entry: returns 0, aborts with the case's descriptor on a bad verdict. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
