/* SPDX-License-Identifier: MIT
 *
 * sigmoid_mul: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "sigmoid_mul";
