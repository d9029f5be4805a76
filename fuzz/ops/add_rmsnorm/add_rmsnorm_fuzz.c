/* SPDX-License-Identifier: MIT
 *
 * add_rmsnorm: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "add_rmsnorm";
