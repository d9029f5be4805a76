/* SPDX-License-Identifier: MIT
 *
 * OpenBLAS as a peer in benchmarks, found at run time: nothing else of Assay needs it.
 */
#ifndef ASSAY_TOOLS_PEER_H
#define ASSAY_TOOLS_PEER_H

#include <stddef.h>

struct peer;

/* y[t, n] = x[t, k] w[n, k]^T in binary32 through sgemm. NULL with a message when the library is
 * not there or memory is short. */
struct peer *peer_open(int t, int n, int k, int num_threads, char *message, size_t message_bytes);
void peer_sgemm(struct peer *peer);
void peer_close(struct peer *peer);

#endif
