/* SPDX-License-Identifier: MIT
 *
 * Hooks for tests: fail the n-th allocation, mapping or file operation of the library.
 */
#ifndef ASSAY_TESTING_H
#define ASSAY_TESTING_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The n-th following operation that can fail (n = 1: the next one) does fail; 0 turns it off.
 * Counts allocations, mappings, reads, writes, renames and thread starts, in all threads. */
void assay_fault_after(int64_t n);
/* True when the fault has happened since the last assay_fault_after. */
bool assay_fault_happened(void);
/* Allocations of the library that are live now: 0 when everything was closed. */
int64_t assay_live_allocations(void);

#ifdef __cplusplus
}
#endif
#endif
