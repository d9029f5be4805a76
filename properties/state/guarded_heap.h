/* SPDX-License-Identifier: MIT
 *
 * The library's aligned blocks, which are its buffers on the host, with canaries around them: they
 * begin as NaN, become NaN when freed, and are watched for a while after that. For programs that
 * redirect aligned_alloc and free by the linker (--wrap). Single-threaded.
 */
#ifndef PROPERTIES_GUARDED_HEAP_H
#define PROPERTIES_GUARDED_HEAP_H

/* What somebody wrote where nothing is his, or NULL. */
const char *guarded_heap_check(void);

#endif
