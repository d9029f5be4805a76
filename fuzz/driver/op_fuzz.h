/* SPDX-License-Identifier: MIT
 *
 * Fuzzing an op: the bytes choose parameters, layout, distribution, route and seed of a case, which
 * is legal whatever they are. It runs on the backends cpu and simt, the oracle judges both. A
 * target defines fuzz_op_name and nothing else.
 */
#ifndef FUZZ_OP_FUZZ_H
#define FUZZ_OP_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* NULL: the environment variable ASSAY_FUZZ_OP names the op, or the first byte chooses it; that
 * byte is no part of the case either way, so that an input means the same case. */
extern const char *const fuzz_op_name;

/* libFuzzer's entry: returns 0, aborts with the case's descriptor on a bad verdict. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
