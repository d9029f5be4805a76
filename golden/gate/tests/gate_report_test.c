/* SPDX-License-Identifier: MIT
 *
 * gate.report: the JSON parses and says what the run says, the page is whole and needs nothing
 * else, JUnit is well-formed; also with values that are not numbers.
 */
#include <criterion/criterion.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "gate_report.h"
#include "gate_sample.h"

static char *written(void write(const struct gate_result *, FILE *),
                     const struct gate_result *result)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    cr_assert(stream != NULL);
    write(result, stream);
    cr_assert(fclose(stream) == 0);
    return text;
}

/* Elements without an end tag in HTML. */
static bool is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0;
}

/* Every start tag has its end tag, in order, and there is no stray < in the text. */
static void check_tags(const char *text)
{
    char open[64][16];
    int depth = 0;
    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        cr_assert(end != NULL, "an unfinished tag: %.40s", at);
        if (at[1] == '!' || at[1] == '?' || end[-1] == '/')
            continue;
        char name[16] = "";
        const bool closing = at[1] == '/';
        const char *first = at + 1 + closing;
        for (int i = 0; i < 15 && isalnum((unsigned char)first[i]); i++)
            name[i] = first[i];
        cr_assert(name[0] != '\0', "no name in %.40s", at);
        if (closing) {
            cr_assert(depth > 0 && strcmp(open[depth - 1], name) == 0, "stray </%s> after %s", name,
                      depth > 0 ? open[depth - 1] : "nothing");
            depth--;
        } else if (!is_void(name)) {
            cr_assert(depth < 64);
            strcpy(open[depth++], name);
        }
    }
    cr_assert(depth == 0, "<%s> is not closed", open[depth - 1]);
}

static void check_page(const struct gate_result *result)
{
    static const char *const forbidden[] = {
        "http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link"};
    char *page = written(gate_report_html, result);
    check_tags(page);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        cr_assert(strstr(page, forbidden[i]) == NULL, "the page holds %s", forbidden[i]);
    cr_assert(strstr(page, "prefers-color-scheme:dark") != NULL);
    cr_assert(strstr(page, "name=\"viewport\"") != NULL);
    cr_assert(strstr(page, "<polyline") != NULL, "no plot");
    cr_assert(strstr(page, "models/made-up &amp; &lt;more&gt;") != NULL, "not escaped");
    cr_assert(strstr(page, gate_verdict_name(result->verdict)) != NULL);
    int plots = 0;
    for (const char *plot = strstr(page, "<svg"); plot != NULL; plot = strstr(plot + 1, "<svg")) {
        const char *end = strstr(plot, "</svg>"), *nan = strstr(plot, "nan");
        cr_assert(nan == NULL || nan > end, "NaN in a plot");
        plots++;
    }
    cr_assert_eq(plots, 3, "drift, routes and divergence: %d", plots);
    cr_assert(strstr(page, "gdn.&lt;a&gt;.cpu") != NULL, "not escaped");
    free(page);
}

static void check_json(const struct gate_result *result)
{
    json_error_t where;
    char *text = gate_report_json(result);
    cr_assert(text != NULL);
    json_t *root = json_loads(text, 0, &where);
    cr_assert(root != NULL, "%d: %s", where.line, where.text);
    cr_assert(strcmp(json_string_value(json_object_get(root, "verdict")),
                     gate_verdict_name(result->verdict)) == 0);
    const json_t *list = json_object_get(root, "evidence");
    cr_assert(json_array_size(list) == GATE_NUM_EVIDENCE);
    size_t limits = 0;
    for (size_t i = 0; i < GATE_NUM_EVIDENCE; i++)
        limits += json_array_size(json_object_get(json_array_get(list, i), "limits"));
    cr_assert(limits == GATE_NUM_LIMITS);
    cr_assert(json_array_size(json_object_get(root, "routes")) == 2);
    const json_t *kl = json_object_get(json_object_get(root, "divergence"), "prefill");
    cr_assert(json_integer_value(json_object_get(kl, "tokens")) == 4);
    cr_assert(json_array_size(json_object_get(kl, "half_decades")) == GATE_KL_BINS);
    json_decref(root);
    free(text);
}

Test(gate_report, all_forms)
{
    struct gate_result *result = sample_result();
    for (int pass = 0; pass < 2; pass++) {
        check_page(result);
        check_json(result);
        char *junit = written(gate_report_junit, result), *text = written(gate_report_text, result);
        check_tags(junit);
        cr_assert((strstr(junit, "<failure") != NULL) == (pass == 1));
        for (int i = 0; i < GATE_NUM_LIMITS; i++)
            cr_assert(strstr(text, gate_limit_rows[i].what) != NULL);
        cr_assert(strstr(text, pass == 0 ? "PASS: " : "FAIL: ") != NULL);
        free(junit);
        free(text);
        /* The second time with what a broken kernel leaves. */
        result->measured[GATE_LIMIT_DRIFT_ERROR] = NAN;
        result->measured[GATE_LIMIT_GREEDY_LOGIT] = INFINITY;
        result->drift[0].error[3] = NAN;
        result->drift[1].bound[3] = INFINITY;
        result->route[1].bound_share = INFINITY;
        result->route[1].l2_share = NAN;
        result->kl[0].max = NAN;
        gate_judge(result, "2026-11-30");
    }
    free(result);
}

/* The page begins with what is traded: option, change, quality, gain, verdict. */
Test(gate_report, gain)
{
    struct gate_result *result = sample_result();
    struct gate_gain_row rows[GATE_GAIN_ROWS];
    cr_assert(gate_report_gain(result, rows) == GATE_GAIN_ROWS);
    cr_assert(strcmp(rows[0].without, "4096") == 0 && strcmp(rows[0].with, "3072") == 0 &&
                  strcmp(rows[0].change, "-1024 (-25.0 %)") == 0,
              "%s -> %s: %s", rows[0].without, rows[0].with, rows[0].change);
    cr_assert(strcmp(rows[2].change, "same") == 0); /* states: 0 and 0 */
    cr_assert(strcmp(rows[4].change, "+250.0 (+25.0 %)") == 0, "%s", rows[4].change);
    cr_assert(strcmp(rows[5].change, "-10.0 (-10.0 %)") == 0, "%s", rows[5].change);
    char *page = written(gate_report_html, result), *text = written(gate_report_text, result);
    const char *const trade = strstr(page, "<h2>The trade</h2>");
    cr_assert(trade != NULL && trade < strstr(page, "<h2>Evidence</h2>"));
    cr_assert(strstr(trade, assay_trade_change(ASSAY_TRADE_GDN_STATE_FP16)) != NULL);
    cr_assert(strstr(trade, "weights that passes read: -1024 (-25.0 %) bytes") != NULL);
    cr_assert(strstr(page, "<h2>Gain</h2>") != NULL);
    cr_assert(strstr(text, "+250.0 (+25.0 %)") != NULL);
    free(page);
    free(text);

    /* What was not measured is not shown as 0; the reason is. */
    result->gain = (struct gate_gain){.note = "no <speed>"};
    page = written(gate_report_html, result);
    text = written(gate_report_text, result);
    cr_assert(gate_report_gain(result, rows) == 0 && strstr(page, "<h2>Gain</h2>") == NULL);
    cr_assert(strstr(page, "no &lt;speed&gt;") != NULL && strstr(text, "no <speed>") != NULL);
    free(page);
    free(text);
    char *json = gate_report_json(result);
    cr_assert(strstr(json, "\"gain\": null") != NULL);
    free(json);
    free(result);
}
