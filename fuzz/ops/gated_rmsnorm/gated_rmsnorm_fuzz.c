/* SPDX-License-Identifier: MIT
 *
 * gated_rmsnorm: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "gated_rmsnorm";
