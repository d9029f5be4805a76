/* SPDX-License-Identifier: MIT
 *
 * The multiply-add rate of this processor, for compute floors.
 */
#ifndef ASSAY_TOOLS_BENCH_KERNELS_H
#define ASSAY_TOOLS_BENCH_KERNELS_H

#include <assay/context.h>

/* A fixed number of independent binary32 multiply-adds in registers. */
void bench_madds(enum assay_isa isa);
/* That number. */
double bench_madds_count(enum assay_isa isa);

#endif
