/* SPDX-License-Identifier: MIT
 *
 * op: the first byte chooses the op, or the environment variable ASSAY_FUZZ_OP names it; the others
 * become a case.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = NULL;
