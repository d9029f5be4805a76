/* SPDX-License-Identifier: MIT
 *
 * Whether routes that multiply by warpgroups (wgmma, sm_90) can be taken.
 */
#ifndef ASSAY_CUDA_WARPGROUPS_H
#define ASSAY_CUDA_WARPGROUPS_H

#include <stdbool.h>

/* All devices that are here have them; where there is none the executor has. Asked once. */
bool devices_have_warpgroups(void);

#endif
