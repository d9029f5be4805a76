/* SPDX-License-Identifier: MIT
 *
 * How much memory the library holds, at most, between two points of a test. The engine's calls of
 * malloc and its kin are redirected here by the linker (--wrap), jansson's by its own hook, so
 * that the meter also works under sanitizers and sees nothing else.
 */
#ifndef ASSAY_PROPERTIES_MEMORY_METER_H
#define ASSAY_PROPERTIES_MEMORY_METER_H

#include <stddef.h>

/* Redirects jansson; once, before anything is parsed. */
void memory_meter_start(void);
void memory_meter_reset(void);
/* The largest number of live bytes since the reset, without those of before. */
size_t memory_meter_peak(void);
/* The largest single request since the reset, granted or not. */
size_t memory_meter_request(void);
/* Bytes allocated since the reset that are still live. */
size_t memory_meter_live(void);

#endif
