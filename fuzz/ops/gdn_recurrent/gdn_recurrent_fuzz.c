/* SPDX-License-Identifier: MIT
 *
 * gdn_recurrent: bytes become a case, judged by the oracle.
 */
#include "op_fuzz.h"

const char *const fuzz_op_name = "gdn_recurrent";
