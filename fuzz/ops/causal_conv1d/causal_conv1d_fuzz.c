/* SPDX-License-Identifier: MIT
 *
 * causal_conv1d: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "causal_conv1d";
