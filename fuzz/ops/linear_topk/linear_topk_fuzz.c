/* SPDX-License-Identifier: MIT
 *
 * linear_topk: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "linear_topk";
