/* SPDX-License-Identifier: MIT
 *
 * Unicode normal form C on utf8proc's data. Decomposition and composition are utf8proc's; the
 * canonical reordering is done here, because utf8proc sorts marks by exchanging neighbours, which
 * is quadratic in a run of marks and a text can consist of one run.
 */
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>

#include <utf8proc.h>

#include "core/core.h"
#include "text/utf8.h"

#define OPTIONS ((utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE))

/* U+0300 is the first code point that NFC may change, drop or join to another. */
static bool may_change(const unsigned char *text, size_t bytes)
{
    enum { LEAD_OF_U0300 = 0xCC };
    for (size_t i = 0; i < bytes; i++)
        if (text[i] >= LEAD_OF_U0300)
            return true;
    return false;
}

struct code_points {
    utf8proc_int32_t *data;
    size_t count, capacity;
};

static bool decompose(const unsigned char *text, size_t bytes, struct code_points *out)
{
    enum { LONGEST = 32 }; /* canonical decompositions have at most 4 code points */
    for (size_t at = 0; at < bytes;) {
        if (out->capacity - out->count < LONGEST) {
            size_t capacity = out->capacity + out->capacity / 2 + LONGEST;
            utf8proc_int32_t *data = assay_resize(out->data, capacity, sizeof *data);
            if (data == NULL)
                return false;
            out->data = data;
            out->capacity = capacity;
        }
        struct utf8_part part = utf8_first(text + at, bytes - at);
        int boundary = 0;
        utf8proc_ssize_t written = utf8proc_decompose_char(
            (utf8proc_int32_t)part.code_point, out->data + out->count, LONGEST, OPTIONS, &boundary);
        out->count += written > 0 ? (size_t)written : 0;
        at += (size_t)part.length;
    }
    return true;
}

static unsigned class_of(utf8proc_int32_t code_point)
{
    return (unsigned)utf8proc_get_property(code_point)->combining_class;
}

/* Sorts a run of marks by combining class, stably: by counting, through `spare`. */
static void order_run(utf8proc_int32_t *marks, size_t count, utf8proc_int32_t *spare)
{
    size_t start[257] = {0};
    for (size_t i = 0; i < count; i++)
        start[(class_of(marks[i]) & 0xFF) + 1]++;
    for (int c = 0; c < 256; c++)
        start[c + 1] += start[c];
    for (size_t i = 0; i < count; i++)
        spare[start[class_of(marks[i]) & 0xFF]++] = marks[i];
    memcpy(marks, spare, count * sizeof *marks);
}

static bool order(struct code_points *text)
{
    utf8proc_int32_t *spare = NULL;
    for (size_t i = 0; i < text->count; i++) {
        if (class_of(text->data[i]) == 0)
            continue;
        size_t end = i + 1;
        bool ordered = true;
        for (; end < text->count && class_of(text->data[end]) != 0; end++)
            ordered = ordered && class_of(text->data[end - 1]) <= class_of(text->data[end]);
        if (!ordered) {
            if (spare == NULL && (spare = assay_alloc(text->count * sizeof *spare)) == NULL)
                return false;
            order_run(text->data + i, end - i, spare);
        }
        i = end - 1;
    }
    assay_free(spare);
    return true;
}

static bool encode(const struct code_points *text, unsigned char **out, size_t *bytes)
{
    enum { LONGEST = 4 };
    size_t total = 0;
    unsigned char character[LONGEST];
    for (size_t i = 0; i < text->count; i++)
        total += (size_t)utf8_write((uint32_t)text->data[i], character);
    *out = assay_alloc(total);
    if (*out == NULL)
        return false;
    *bytes = 0;
    for (size_t i = 0; i < text->count; i++) {
        int length = utf8_write((uint32_t)text->data[i], character);
        memcpy(*out + *bytes, character, (size_t)length);
        *bytes += (size_t)length;
    }
    return true;
}

bool normal_form_c(const unsigned char *text, size_t bytes, const unsigned char **out,
                   size_t *out_bytes, unsigned char **owned)
{
    *out = text;
    *out_bytes = bytes;
    *owned = NULL;
    if (!may_change(text, bytes))
        return true;
    struct code_points points = {0};
    bool done = decompose(text, bytes, &points) && order(&points);
    if (done) {
        utf8proc_ssize_t composed =
            utf8proc_normalize_utf32(points.data, (utf8proc_ssize_t)points.count, OPTIONS);
        if (composed >= 0)
            points.count = (size_t)composed;
        done = encode(&points, owned, out_bytes);
        *out = *owned;
    }
    assay_free(points.data);
    return done;
}
