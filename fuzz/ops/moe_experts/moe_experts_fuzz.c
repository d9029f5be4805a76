/* SPDX-License-Identifier: MIT
 *
 * moe_experts: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "moe_experts";
