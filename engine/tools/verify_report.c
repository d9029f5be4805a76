/* SPDX-License-Identifier: MIT
 *
 * Reports of `assay verify`.
 */
#include "tools/verify_report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <assay/version.h>

#include "core/core.h"

static struct verify_row *row_of(struct verify_report *report, const char *route)
{
    for (int i = 0; i < report->num_rows; i++)
        if (strcmp(report->rows[i].route, route) == 0)
            return &report->rows[i];
    return NULL;
}

void verify_report_add(struct verify_report *report, const struct verify_outcome *outcome)
{
    struct verify_row *row =
        row_of(report, outcome->route[0] != '\0' ? outcome->route : outcome->c.route);
    if (row == NULL)
        return;
    if (outcome->refused) {
        row->refused++;
        return;
    }
    row->cases++;
    row->mpfr += outcome->used_mpfr;
    row->seconds += outcome->seconds;
    const struct verdict *v = &outcome->verdict;
    if (v->finding == VERDICT_PASS) {
        if (v->worst_ratio > row->worst.worst_ratio)
            row->worst_case = outcome->c;
        verdict_merge(&row->worst, v);
        return;
    }
    struct tolerated_entry *const known =
        tolerated_find(&report->tolerated, row->route, v->finding);
    if (known != NULL) {
        known->cases++;
        row->tolerated++;
        return;
    }
    row->failed += verdict_is_failure(v->finding);
    row->mistrusted += v->finding == VERDICT_MISTRUSTED;
    row->not_run += v->finding == VERDICT_NOT_RUN;
    if (row->num_failures == VERIFY_MAX_FAILURES)
        return;
    struct verify_failure *grown =
        realloc(row->failures, (size_t)(row->num_failures + 1) * sizeof *grown);
    if (grown == NULL)
        return; /* it is counted all the same */
    row->failures = grown;
    row->failures[row->num_failures++] =
        (struct verify_failure){.outcome = *outcome, .smallest = outcome->c};
}

static int64_t bad_of(const struct verify_row *row)
{
    return row->failed + row->mistrusted + row->not_run;
}

/* The route ran and does not fail so any more. */
static bool is_over(const struct verify_report *report, const struct tolerated_entry *entry)
{
    for (int i = 0; i < report->num_rows; i++)
        if (strcmp(report->rows[i].route, entry->route) == 0)
            return !entry->expired && entry->cases == 0 && report->rows[i].cases > 0;
    return false;
}

assay_status verify_report_tolerate(struct verify_report *report, const char *path,
                                    struct assay_error *error)
{
    char today[16];
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(today, sizeof today, "%Y-%m-%d", &utc);
    return tolerated_read(path, today, &report->tolerated, error);
}

int64_t verify_report_bad(const struct verify_report *report)
{
    int64_t bad = 0;
    for (int i = 0; i < report->tolerated.count; i++)
        bad += is_over(report, &report->tolerated.entries[i]);
    for (int i = 0; i < report->num_rows; i++)
        bad += bad_of(&report->rows[i]);
    return bad;
}

int64_t verify_report_not_run(const struct verify_report *report)
{
    int64_t not_run = 0;
    for (int i = 0; i < report->num_rows; i++)
        not_run += report->rows[i].not_run;
    return not_run;
}

int64_t verify_report_cases(const struct verify_report *report)
{
    int64_t cases = 0;
    for (int i = 0; i < report->num_rows; i++)
        cases += report->rows[i].cases;
    return cases;
}

void verify_outcome_print(const struct verify_outcome *outcome)
{
    char message[512];
    const struct verdict *v = &outcome->verdict;
    verdict_explain(v, message, sizeof message);
    printf("%s: %s%s%s\n", outcome->route, verdict_finding_name(v->finding),
           v->message[0] != '\0' ? ": " : "", v->message);
    printf("  relative L2 %.3g, allowed %.3g; worst element: %s\n", v->relative_l2, v->allowance,
           message);
    printf("  ulp 50 / 99 / 100 %%: %.3g / %.3g / %.3g; %lld elements; oracle: %s\n", v->ulp_50,
           v->ulp_99, v->ulp_100, (long long)v->count, outcome->used_mpfr ? "MPFR" : "FP64");
}

static void print_failure(const struct verify_failure *f, const char *plugin)
{
    char text[CASE_TEXT_BYTES], bound[512];
    const struct verdict *v = &f->outcome.verdict;
    const char *heading = v->finding == VERDICT_MISTRUSTED ? "MISTRUSTED"
                          : v->finding == VERDICT_NOT_RUN  ? "NOT RUN"
                                                           : "FAILED";
    printf("\n%s %s: %s: %s\n", heading, f->outcome.route, verdict_finding_name(v->finding),
           v->message);
    if (v->finding == VERDICT_ELEMENT || v->finding == VERDICT_RELATIVE_L2) {
        verdict_explain(v, bound, sizeof bound);
        printf("  %s\n", bound);
    }
    case_print(&f->smallest, text);
    printf("  repeat: assay verify %s%s%s'%s'\n", plugin != NULL ? "--plugin " : "",
           plugin != NULL ? plugin : "", plugin != NULL ? " " : "", text);
}

static void print_tolerated(const struct verify_report *report)
{
    for (int i = 0; i < report->tolerated.count; i++) {
        const struct tolerated_entry *const e = &report->tolerated.entries[i];
        const char *const finding = verdict_finding_name(e->finding);
        if (e->cases > 0)
            printf("\nTOLERATED until %s: %s: %s: %lld cases: %s\n", e->expires, e->route, finding,
                   (long long)e->cases, e->reason);
        else if (e->expired)
            printf("\nEXPIRED on %s: %s: %s is not tolerated any more: %s\n", e->expires, e->route,
                   finding, e->reason);
        else if (is_over(report, e))
            printf("\nUNEXPECTED PASS: %s: no case gives %s: remove the entry (%s)\n", e->route,
                   finding, e->reason);
    }
}

void verify_report_print(const struct verify_report *report)
{
    printf("%-34s %-8s %6s %5s  %9s %9s %6s  %9s %9s %9s\n", "route", "profile", "cases", "bad",
           "rel L2", "allowed", "bound", "ulp 50%", "99%", "100%");
    for (int i = 0; i < report->num_rows; i++) {
        const struct verify_row *r = &report->rows[i];
        const struct verdict *v = &r->worst;
        printf("%-34s %-8s %6lld %5lld  %9.2e %9.2e %5.1f%%  %9.3g %9.3g %9.3g%s\n", r->route,
               assay_profile_name(r->profile), (long long)r->cases, (long long)bad_of(r),
               v->relative_l2, v->allowance, 100 * v->worst_ratio, v->ulp_50, v->ulp_99, v->ulp_100,
               r->mistrusted > 0 ? "  MISTRUSTED"
               : r->not_run > 0  ? "  NOT RUN"
                                 : "");
    }
    for (int i = 0; i < report->num_rows; i++)
        for (int k = 0; k < report->rows[i].num_failures; k++)
            print_failure(&report->rows[i].failures[k], report->plugin);
    print_tolerated(report);
    printf("\n%lld cases, %lld bad, seed %llu, %.1f s\n", (long long)verify_report_cases(report),
           (long long)verify_report_bad(report), (unsigned long long)report->seed, report->seconds);
}

/* Infinities and NaN have no JSON number: null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *failure_json(const struct verify_failure *f)
{
    char given[CASE_TEXT_BYTES], smallest[CASE_TEXT_BYTES];
    case_print(&f->outcome.c, given);
    case_print(&f->smallest, smallest);
    return json_pack("{s:s, s:s, s:s, s:s}", "finding",
                     verdict_finding_name(f->outcome.verdict.finding), "message",
                     f->outcome.verdict.message, "case", given, "smallest", smallest);
}

static json_t *row_json(const struct verify_row *r)
{
    json_t *failures = json_array();
    for (int k = 0; k < r->num_failures; k++)
        json_array_append_new(failures, failure_json(&r->failures[k]));
    json_t *histogram = json_array();
    for (int b = 0; b < VERDICT_ULP_BINS; b++)
        json_array_append_new(histogram, json_integer(r->worst.ulp_histogram[b]));
    char worst[CASE_TEXT_BYTES] = "";
    if (r->worst_case.spec != NULL)
        case_print(&r->worst_case, worst);
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:o, "
        "s:o, s:o, s:o}",
        "op", r->op, "route", r->route, "profile", assay_profile_name(r->profile), "cases",
        (json_int_t)r->cases, "failed", (json_int_t)r->failed, "mistrusted",
        (json_int_t)r->mistrusted, "not_run", (json_int_t)r->not_run, "tolerated",
        (json_int_t)r->tolerated, "refused", (json_int_t)r->refused, "mpfr", (json_int_t)r->mpfr,
        "relative_l2", number(r->worst.relative_l2), "allowance", number(r->worst.allowance),
        "bound_ratio", number(r->worst.worst_ratio), "worst_case", worst, "ulp_50",
        number(r->worst.ulp_50), "ulp_99", number(r->worst.ulp_99), "ulp_100",
        number(r->worst.ulp_100), "ulp_histogram", histogram, "seconds", number(r->seconds),
        "failures", failures);
}

assay_status verify_report_json(const struct verify_report *report, const char *path,
                                struct assay_error *error)
{
    json_t *rows = json_array();
    for (int i = 0; i < report->num_rows; i++)
        json_array_append_new(rows, row_json(&report->rows[i]));
    json_t *root =
        json_pack("{s:s, s:I, s:I, s:I, s:f, s:s, s:o}", "version", ASSAY_VERSION, "seed",
                  (json_int_t)report->seed, "cases", (json_int_t)verify_report_cases(report), "bad",
                  (json_int_t)verify_report_bad(report), "seconds", report->seconds, "isa",
                  assay_isa_name(assay_isa_detect()), "routes", rows);
    struct assay_new_file file;
    assay_status status = assay_new_file_open(path, &file, error);
    if (status == ASSAY_OK) {
        if (root == NULL || json_dumpf(root, file.stream, JSON_INDENT(1)) != 0) {
            assay_new_file_abort(&file);
            status = assay_fail(error, ASSAY_E_IO, path, "", "the JSON could not be written");
        } else {
            fputc('\n', file.stream);
            status = assay_new_file_commit(&file, error);
        }
    }
    json_decref(root);
    return status;
}

static void xml_text(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", stream);
            break;
        case '<':
            fputs("&lt;", stream);
            break;
        case '>':
            fputs("&gt;", stream);
            break;
        case '"':
            fputs("&quot;", stream);
            break;
        default:
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, stream);
        }
    }
}

static void junit_row(FILE *s, const struct verify_row *r)
{
    fprintf(s, "  <testcase classname=\"%s\" name=\"%s\" time=\"%.3f\">\n", r->op, r->route,
            r->seconds);
    for (int k = 0; k < r->num_failures; k++) {
        char text[CASE_TEXT_BYTES];
        case_print(&r->failures[k].smallest, text);
        fprintf(s, "    <failure message=\"");
        xml_text(s, r->failures[k].outcome.verdict.message);
        fprintf(s, "\">assay verify '");
        xml_text(s, text);
        fprintf(s, "'</failure>\n");
    }
    fprintf(s, "  </testcase>\n");
}

assay_status verify_report_junit(const struct verify_report *report, const char *path,
                                 struct assay_error *error)
{
    struct assay_new_file file;
    assay_status status = assay_new_file_open(path, &file, error);
    if (status != ASSAY_OK)
        return status;
    int failed = 0;
    for (int i = 0; i < report->num_rows; i++)
        failed += report->rows[i].num_failures > 0;
    fprintf(file.stream,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"assay verify\" "
            "tests=\"%d\" failures=\"%d\" time=\"%.3f\">\n",
            report->num_rows, failed, report->seconds);
    for (int i = 0; i < report->num_rows; i++)
        junit_row(file.stream, &report->rows[i]);
    fprintf(file.stream, "</testsuite>\n");
    return assay_new_file_commit(&file, error);
}

void verify_report_free(struct verify_report *report)
{
    for (int i = 0; i < report->num_rows; i++)
        free(report->rows[i].failures);
    free(report->rows);
    tolerated_free(&report->tolerated);
    *report = (struct verify_report){.rows = NULL};
}
