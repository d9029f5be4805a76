/* SPDX-License-Identifier: MIT
 *
 * moe_router: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "moe_router";
