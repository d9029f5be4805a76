/* SPDX-License-Identifier: MIT
 *
 * moe_experts_grouped: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "moe_experts_grouped";
