/* SPDX-License-Identifier: MIT
 *
 * Kernels with a planted fault each, and their repaired twins: the same kernel called with
 * repaired = true.
 */
#ifndef EXECUTOR_FAULT_KERNELS_H
#define EXECUTOR_FAULT_KERNELS_H

#include "cuda/executor/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FAULT_THREADS = 64, FAULT_ROWS = 4, FAULT_WIDTH = 64, FAULT_PITCH = 72 };

/* What the kernels get: rows of FAULT_WIDTH words, FAULT_PITCH words apart and 16-byte aligned, to
 * read and to write. */
struct fault_args {
    const int *in;
    int *out;
    bool repaired;
};

struct fault_case {
    const char *name;
    enum simt_fault_kind kind;
    assay_status (*run)(struct simt_launch *launch, struct fault_args args);
};

extern const struct fault_case fault_cases[];
extern const int num_fault_cases;

/* The lines of the statements that take part in the fault of the kernel that ran last: the second
 * is 0 where one alone is at fault. */
extern int fault_lines[2];

#ifdef __cplusplus
}
#endif
#endif
