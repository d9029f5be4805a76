/* SPDX-License-Identifier: MIT
 *
 * The status table and error records: complete, unique, and never overrun.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include <assay/status.h>

static const struct {
    const char *name;
    int value;
    const char *text, *remedy;
} rows[] = {
#define STATUS_ROW(name, value, text, remedy) {"ASSAY_" #name, value, text, remedy},
    ASSAY_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

/* One line, and not the end of a sentence: texts are put into messages. */
static void check_line(const char *text)
{
    cr_assert_not_null(text);
    size_t length = strlen(text);
    cr_assert(length > 0 && length < 120, "'%s'", text);
    cr_assert_null(strpbrk(text, "\n\t%"), "'%s'", text);
    cr_assert(text[0] != ' ' && text[length - 1] != ' ' && text[length - 1] != '.', "'%s'", text);
}

Test(status, table)
{
    /* Subject of each band of ten; a code outside them needs a new row here and in the docs. */
    static const int bands[] = {10, 20, 30, 40, 50, 60, 70, 90};
    for (int i = 0; i < NUM_ROWS; i++) {
        assay_status status = (assay_status)rows[i].value;
        cr_assert_str_eq(assay_status_name(status), rows[i].name);
        cr_assert_str_eq(assay_status_text(status), rows[i].text);
        cr_assert_str_eq(assay_status_remedy(status), rows[i].remedy);
        check_line(rows[i].text);
        check_line(rows[i].remedy);
        for (int k = 0; k < i; k++) {
            cr_assert_neq(rows[i].value, rows[k].value, "%s", rows[i].name);
            cr_assert_str_neq(rows[i].name, rows[k].name);
            cr_assert_str_neq(rows[i].text, rows[k].text);
        }
        cr_assert(i == 0 || rows[i].value > rows[i - 1].value, "%s is out of order", rows[i].name);
        bool banded = rows[i].value == 0;
        for (size_t b = 0; b < sizeof bands / sizeof bands[0]; b++)
            banded = banded || rows[i].value / 10 * 10 == bands[b];
        cr_assert(banded, "%s = %d", rows[i].name, rows[i].value);
        cr_assert(i == 0 ? strcmp(rows[i].name, "ASSAY_OK") == 0
                         : strncmp(rows[i].name, "ASSAY_E_", 8) == 0);
    }
}

Test(status, every_other_value_is_unknown)
{
    for (int value = -300; value < 1000; value++) {
        bool known = false;
        for (int i = 0; i < NUM_ROWS; i++)
            known = known || rows[i].value == value;
        bool named = strcmp(assay_status_name((assay_status)value), "unknown status") != 0;
        cr_assert_eq(known, named, "%d", value);
        check_line(assay_status_text((assay_status)value));
        check_line(assay_status_remedy((assay_status)value));
    }
}

Test(status, error_records)
{
    struct assay_error error = {.status = ASSAY_OK};
    cr_assert_eq(assay_fail(NULL, ASSAY_E_IO, "a", "b", "c"), ASSAY_E_IO, "no record is fine");
    cr_assert_eq(assay_fail(&error, ASSAY_E_ARG, "op", "x", "is %d", 3), ASSAY_E_ARG);
    cr_assert_eq(assay_fail(&error, ASSAY_E_IO, "other", "y", "later"), ASSAY_E_IO);
    cr_assert_eq(error.status, ASSAY_E_ARG, "the first failure is kept");
    cr_assert_str_eq(error.where, "op");
    cr_assert_str_eq(error.what, "x");
    cr_assert_str_eq(error.message, "is 3");
    char text[256];
    assay_error_format(&error, text, sizeof text);
    cr_assert_str_eq(text, "ASSAY_E_ARG: op: x: is 3 (correct the argument)");
    assay_error_clear(&error);
    cr_assert_eq(error.status, ASSAY_OK);
    assay_fail(&error, ASSAY_E_INTERNAL, NULL, NULL, "m");
    assay_error_format(&error, text, sizeof text);
    cr_assert_str_eq(text, "ASSAY_E_INTERNAL: : m (report it with the message)");
    /* Longer than the record: cut, terminated. */
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assay_error_clear(&error);
    assay_fail(&error, ASSAY_E_PARSE, longer, longer, "%s", longer);
    cr_assert_eq(strlen(error.where), sizeof error.where - 1);
    cr_assert_eq(strlen(error.what), sizeof error.what - 1);
    cr_assert_eq(strlen(error.message), sizeof error.message - 1);
}

Test(status, format_never_overruns)
{
    struct assay_error error = {.status = ASSAY_OK};
    char longer[2000], whole[2048];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assay_fail(&error, ASSAY_E_CORRUPT, longer, longer, "%s", longer);
    assay_error_format(&error, whole, sizeof whole);
    size_t length = strlen(whole);
    cr_assert(length > 700 && length < sizeof whole);
    for (size_t size = 0; size <= length + 2; size++) {
        char text[sizeof whole + 8];
        memset(text, '#', sizeof text);
        assay_error_format(&error, text, size);
        cr_assert_eq(text[size], '#', "size %zu is overrun", size);
        if (size == 0)
            continue;
        size_t got = size <= length ? size - 1 : length;
        cr_assert_eq(strlen(text), got, "size %zu", size);
        cr_assert(memcmp(text, whole, got) == 0, "size %zu", size);
    }
}
