/* SPDX-License-Identifier: MIT
 *
 * UTF-8: one part at a time.
 */
#include "text/utf8.h"

/* Continuation bytes after a lead byte, and the range of the first of them, which is narrower for
 * the leads that could else spell overlong forms, surrogates or values above U+10FFFF. */
struct lead {
    int continuations; /* -1: not a lead byte */
    unsigned char low, high;
};

static struct lead lead_of(unsigned char byte)
{
    if (byte < 0x80)
        return (struct lead){0, 0, 0};
    if (byte < 0xC2 || byte > 0xF4)
        return (struct lead){-1, 0, 0};
    if (byte < 0xE0)
        return (struct lead){1, 0x80, 0xBF};
    if (byte < 0xF0)
        return (struct lead){2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
    return (struct lead){3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
}

struct utf8_part utf8_first(const unsigned char *data, size_t bytes)
{
    struct lead lead = lead_of(data[0]);
    if (lead.continuations < 0)
        return (struct utf8_part){UTF8_INVALID, 1, 0};
    static const unsigned char payload[4] = {0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code_point = data[0] & payload[lead.continuations];
    for (int i = 1; i <= lead.continuations; i++) {
        if ((size_t)i == bytes)
            return (struct utf8_part){UTF8_UNFINISHED, i, 0};
        unsigned char low = i == 1 ? lead.low : 0x80;
        unsigned char high = i == 1 ? lead.high : 0xBF;
        if (data[i] < low || data[i] > high)
            return (struct utf8_part){UTF8_INVALID, i, 0};
        code_point = code_point << 6 | (data[i] & 0x3Fu);
    }
    return (struct utf8_part){UTF8_COMPLETE, lead.continuations + 1, code_point};
}

size_t utf8_valid_prefix(const unsigned char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        if (data[at] < 0x80) {
            at++;
            continue;
        }
        struct utf8_part part = utf8_first(data + at, bytes - at);
        if (part.kind != UTF8_COMPLETE)
            break;
        at += (size_t)part.length;
    }
    return at;
}

int utf8_write(uint32_t code_point, unsigned char out[4])
{
    if (code_point < 0x80) {
        out[0] = (unsigned char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (unsigned char)(0xC0 | code_point >> 6);
        out[1] = (unsigned char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (unsigned char)(0xE0 | code_point >> 12);
        out[1] = (unsigned char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | code_point >> 18);
    out[1] = (unsigned char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (code_point & 0x3F));
    return 4;
}
