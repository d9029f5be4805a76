/* SPDX-License-Identifier: MIT
 *
 * A growing byte buffer for text that leaves the library.
 */
#include "text/text_buffer.h"

#include <stdint.h>
#include <string.h>

#include "core/core.h"

bool text_buffer_reserve(struct text_buffer *buffer, size_t more)
{
    enum { SMALLEST = 64 };
    if (more > SIZE_MAX / 2 - 1 - buffer->bytes)
        return false;
    size_t needed = buffer->bytes + more + 1;
    if (needed > buffer->capacity) {
        size_t capacity = needed + needed / 2; /* geometric: appends are linear altogether */
        if (capacity < SMALLEST)
            capacity = SMALLEST;
        char *data = assay_resize(buffer->data, capacity, 1);
        if (data == NULL)
            return false;
        buffer->data = data;
        buffer->capacity = capacity;
    }
    buffer->data[buffer->bytes] = '\0';
    return true;
}

bool text_buffer_append(struct text_buffer *buffer, const char *data, size_t bytes)
{
    if (!text_buffer_reserve(buffer, bytes))
        return false;
    if (bytes > 0)
        memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    buffer->data[buffer->bytes] = '\0';
    return true;
}
