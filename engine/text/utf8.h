/* SPDX-License-Identifier: MIT
 *
 * UTF-8 as table 3-7 of the Unicode standard defines it: no overlong forms, no surrogates, nothing
 * above U+10FFFF.
 */
#ifndef ASSAY_TEXT_UTF8_H
#define ASSAY_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum utf8_kind {
    UTF8_COMPLETE,   /* a whole character */
    UTF8_INVALID,    /* a maximal part that no continuation can make a character */
    UTF8_UNFINISHED, /* all bytes given begin a character and more are needed */
};

struct utf8_part {
    enum utf8_kind kind;
    int length; /* bytes, 1..4 */
    uint32_t code_point;
};

/* The first part of data[0, bytes), bytes >= 1. */
struct utf8_part utf8_first(const unsigned char *data, size_t bytes);
/* Offset of the first byte that does not belong to a whole character; `bytes` when all do. */
size_t utf8_valid_prefix(const unsigned char *data, size_t bytes);
/* Writes a valid code point; returns the number of bytes, 1..4. */
int utf8_write(uint32_t code_point, unsigned char out[4]);

#endif
