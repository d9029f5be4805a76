/* SPDX-License-Identifier: MIT
 *
 * rope: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "rope";
