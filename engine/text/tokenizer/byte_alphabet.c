/* SPDX-License-Identifier: MIT
 *
 * The printable alphabet in which tokenizer files spell bytes: 33-126, 161-172 and 174-255 stand
 * for themselves, the other 68 bytes are U+0100 ... U+0143 in increasing order.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include "text/utf8.h"

enum { FIRST_STAND_IN = 0x100, NUM_STAND_INS = 68 };

/* The n-th byte that does not stand for itself. */
static int hidden_byte(uint32_t n)
{
    if (n <= 32)
        return (int)n; /* 0-32 */
    if (n <= 66)
        return (int)n - 33 + 127; /* 127-160 */
    return 173;
}

int byte_alphabet_byte(uint32_t code_point)
{
    if (code_point >= FIRST_STAND_IN)
        return code_point < FIRST_STAND_IN + NUM_STAND_INS
                   ? hidden_byte(code_point - FIRST_STAND_IN)
                   : -1;
    bool itself =
        (code_point >= 33 && code_point <= 126) || (code_point >= 161 && code_point != 173);
    return itself ? (int)code_point : -1;
}

int64_t byte_alphabet_decode(const char *text, size_t bytes, unsigned char *raw)
{
    int64_t count = 0;
    for (size_t at = 0; at < bytes;) {
        struct utf8_part part = utf8_first((const unsigned char *)text + at, bytes - at);
        int byte = part.kind == UTF8_COMPLETE ? byte_alphabet_byte(part.code_point) : -1;
        if (byte < 0)
            return -1;
        raw[count++] = (unsigned char)byte;
        at += (size_t)part.length;
    }
    return count;
}
