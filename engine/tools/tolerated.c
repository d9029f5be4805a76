/* SPDX-License-Identifier: MIT
 *
 * The list of tolerated failures.
 */
#include "tools/tolerated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* A member that must be a string of 1 to size - 1 bytes. */
static assay_status text_of(const char *path, int number, const json_t *entry, const char *key,
                            char *text, size_t size, struct assay_error *error)
{
    const char *found = json_string_value(json_object_get(entry, key));
    if (found == NULL || found[0] == '\0' || strlen(found) >= size)
        return assay_fail(error, ASSAY_E_PARSE, path, key,
                          "entry %d: must be a text of 1 to %zu bytes", number, size - 1);
    snprintf(text, size, "%s", found);
    return ASSAY_OK;
}

static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return true;
}

static assay_status read_entry(const char *path, int number, const json_t *json, const char *today,
                               struct tolerated_entry *entry, struct assay_error *error)
{
    char finding[32];
    assay_status status =
        text_of(path, number, json, "route", entry->route, sizeof entry->route, error);
    if (status == ASSAY_OK)
        status = text_of(path, number, json, "finding", finding, sizeof finding, error);
    if (status == ASSAY_OK)
        status = text_of(path, number, json, "reason", entry->reason, sizeof entry->reason, error);
    if (status == ASSAY_OK)
        status =
            text_of(path, number, json, "expires", entry->expires, sizeof entry->expires, error);
    if (status != ASSAY_OK)
        return status;
    if (json_object_size(json) != 4)
        return assay_fail(error, ASSAY_E_PARSE, path, "tolerated",
                          "entry %d: has other keys than route, finding, reason, expires", number);
    if (!is_date(entry->expires))
        return assay_fail(error, ASSAY_E_PARSE, path, "expires",
                          "entry %d: must be a day, YYYY-MM-DD, is \"%s\"", number, entry->expires);
    for (int f = VERDICT_PASS + 1; f < VERDICT_NUM_FINDINGS; f++)
        if (strcmp(finding, verdict_finding_name((enum verdict_finding)f)) == 0)
            entry->finding = (enum verdict_finding)f;
    if (entry->finding == VERDICT_PASS)
        return assay_fail(error, ASSAY_E_PARSE, path, "finding",
                          "entry %d: there is no finding \"%s\"", number, finding);
    entry->expired = strcmp(today, entry->expires) > 0;
    return ASSAY_OK;
}

static assay_status read_entries(const char *path, const json_t *root, const char *today,
                                 struct tolerated_list *list, struct assay_error *error)
{
    const json_t *const entries = json_object_get(root, "tolerated");
    if (!json_is_array(entries) || json_object_size(root) != 1)
        return assay_fail(error, ASSAY_E_PARSE, path, "tolerated",
                          "must be an array, and the only key");
    const size_t count = json_array_size(entries);
    list->entries = calloc(count + 1, sizeof *list->entries);
    if (list->entries == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "tolerated", "no memory");
    for (size_t i = 0; i < count; i++) {
        const assay_status status = read_entry(path, (int)i + 1, json_array_get(entries, i), today,
                                               &list->entries[i], error);
        if (status != ASSAY_OK)
            return status;
        list->count++;
    }
    return ASSAY_OK;
}

assay_status tolerated_read(const char *path, const char *today, struct tolerated_list *list,
                            struct assay_error *error)
{
    json_error_t found;
    *list = (struct tolerated_list){.entries = NULL};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return assay_fail(error, ASSAY_E_NOT_FOUND, path, "tolerated", "%s", strerror(errno));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &found);
    fclose(file);
    if (root == NULL)
        return assay_fail(error, ASSAY_E_PARSE, path, "tolerated", "line %d: %s", found.line,
                          found.text);
    const assay_status status = read_entries(path, root, today, list, error);
    json_decref(root);
    return status;
}

void tolerated_free(struct tolerated_list *list)
{
    free(list->entries);
    *list = (struct tolerated_list){.entries = NULL};
}

struct tolerated_entry *tolerated_find(const struct tolerated_list *list, const char *route,
                                       enum verdict_finding finding)
{
    for (int i = 0; i < list->count; i++) {
        struct tolerated_entry *const entry = &list->entries[i];
        if (!entry->expired && entry->finding == finding && strcmp(entry->route, route) == 0)
            return entry;
    }
    return NULL;
}
