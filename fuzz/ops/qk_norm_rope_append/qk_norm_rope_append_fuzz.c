/* SPDX-License-Identifier: MIT
 *
 * qk_norm_rope_append: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "qk_norm_rope_append";
