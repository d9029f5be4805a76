/* SPDX-License-Identifier: MIT
 *
 * A growing byte buffer for text that leaves the library.
 */
#ifndef ASSAY_TEXT_TEXT_BUFFER_H
#define ASSAY_TEXT_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct text_buffer {
    char *data; /* assay_alloc memory; zero-terminated after text_buffer_reserve */
    size_t bytes;
    size_t capacity;
};

/* Room for `more` bytes and a terminating zero. false: out of memory, the buffer is unchanged. */
bool text_buffer_reserve(struct text_buffer *buffer, size_t more);
bool text_buffer_append(struct text_buffer *buffer, const char *data, size_t bytes);

#endif
