/* SPDX-License-Identifier: MIT
 *
 * silu_mul: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "silu_mul";
