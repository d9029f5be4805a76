/* SPDX-License-Identifier: MIT
 *
 * linear_a8: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "linear_a8";
