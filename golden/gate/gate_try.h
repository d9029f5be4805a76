/* SPDX-License-Identifier: MIT
 *
 * Passing failures on.
 */
#ifndef GATE_TRY_H
#define GATE_TRY_H

#include <assay/status.h>

/* `return` on failure. */
#define TRY(call)                                \
    do {                                         \
        const assay_status try_status_ = (call); \
        if (try_status_ != ASSAY_OK)             \
            return try_status_;                  \
    } while (0)

#endif
