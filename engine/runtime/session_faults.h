/* SPDX-License-Identifier: MIT
 *
 * Where the runtime would be wrong if a test asked for it: false in the library, so that nothing of
 * it is compiled.
 */
#ifndef ASSAY_RUNTIME_SESSION_FAULTS_H
#define ASSAY_RUNTIME_SESSION_FAULTS_H

#include <stdbool.h>

#ifdef ASSAY_SESSION_FAULTS
#include <assay/testing.h>
#define SESSION_FAULT(name) (assay_session_fault == ASSAY_SESSION_FAULT_##name)
#else
#define SESSION_FAULT(name) false
#endif

#endif
