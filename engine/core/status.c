/* SPDX-License-Identifier: MIT
 *
 * Status names and texts, from the one table in <assay/status.h>; error records.
 */
#include <assay/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *assay_status_name(assay_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, meaning, remedy) \
    case ASSAY_##name:                            \
        return "ASSAY_" #name;
        ASSAY_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *assay_status_text(assay_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, meaning, remedy) \
    case ASSAY_##name:                            \
        return meaning;
        ASSAY_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
    }
    return "not a status of this version";
}

const char *assay_status_remedy(assay_status status)
{
    switch (status) {
#define STATUS_CASE(name, value, meaning, remedy) \
    case ASSAY_##name:                            \
        return remedy;
        ASSAY_STATUS_TABLE(STATUS_CASE)
#undef STATUS_CASE
    }
    return "use matching versions of header and library";
}

void assay_error_clear(struct assay_error *error)
{
    memset(error, 0, sizeof *error);
}

/* snprintf cuts and terminates: names longer than the record lose their tail, nothing else. */
static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "");
}

assay_status assay_fail(struct assay_error *error, assay_status status, const char *where,
                        const char *what, const char *format, ...)
{
    if (error == NULL || error->status != ASSAY_OK)
        return status;
    error->status = status;
    copy_text(error->where, sizeof error->where, where);
    copy_text(error->what, sizeof error->what, what);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

void assay_error_format(const struct assay_error *error, char *text, unsigned long size)
{
    const char *separator = error->what[0] != '\0' ? ": " : "";
    snprintf(text, size, "%s: %s%s%s: %s (%s)", assay_status_name(error->status), error->where,
             separator, error->what, error->message, assay_status_remedy(error->status));
}
