/* SPDX-License-Identifier: MIT
 *
 * The ChatML template, rendered by hand from qwen3_5.md section 9.4 and compared byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include <assay/testing.h>

#include "text_support.h"

enum { PROMPT = 1, THINKING = 2, PRESERVE = 4 };

static struct assay_template_options options_of(int flags)
{
    return (struct assay_template_options){.add_generation_prompt = (flags & PROMPT) != 0,
                                           .thinking = (flags & THINKING) != 0,
                                           .preserve_thinking = (flags & PRESERVE) != 0};
}

#define TURN(role, text)         "<|im_start|>" role "\n" text "<|im_end|>\n"
#define THOUGHT(reasoning, text) TURN("assistant", "<think>\n" reasoning "\n</think>\n\n" text)
#define U(text)                  "{\"role\":\"user\",\"content\":\"" text "\"}"
#define S(text)                  "{\"role\":\"system\",\"content\":\"" text "\"}"
#define A(text)                  "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define R(reasoning, text) \
    "{\"role\":\"assistant\",\"reasoning_content\":\"" reasoning "\",\"content\":\"" text "\"}"

static const struct rendering {
    int flags;
    const char *json, *expected;
} renderings[] = {
    {0, "[" U("Hi") "]", TURN("user", "Hi")},
    {PROMPT | THINKING, "[" U("Hi") "]", TURN("user", "Hi") "<|im_start|>assistant\n<think>\n"},
    {PROMPT, "[" U("Hi") "]", TURN("user", "Hi") "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {THINKING, "[" U("Hi") "]", TURN("user", "Hi")},
    /* no default system prompt; a given one comes first, an empty one is a turn of its own */
    {0, "[" S("Be brief.") "," U("Hi") "]", TURN("system", "Be brief.") TURN("user", "Hi")},
    {0, "[" S("  ") "," U("Hi") "]", TURN("system", "") TURN("user", "Hi")},
    /* trimmed at both ends, inside untouched: newlines, ideographic and no-break space, U+0085,
     * U+001C; U+200B is no space */
    {0, "[" U("\\n a \\n b\\t\\n") "]", TURN("user", "a \n b")},
    {0, "[" U("\\u3000\\u00a0x y\\u0085\\u001c\\u2028") "]", TURN("user", "x y")},
    {0, "[" U("\\u200bx\\u200b") "]", TURN("user", "\xE2\x80\x8Bx\xE2\x80\x8B")},
    {0, "[" U(" \\n ") "]", TURN("user", "")},
    {0, "[" U("\xC3\xA9\xC2\xA0") "]", TURN("user", "\xC3\xA9")},
    /* reasoning of turns before the last query is dropped, after it kept */
    {0, "[" U("1") "," R("r", "2") "," U("3") "]",
     TURN("user", "1") TURN("assistant", "2") TURN("user", "3")},
    {0, "[" U("1") "," R("r", "2") "]", TURN("user", "1") THOUGHT("r", "2")},
    {0, "[" U("1") "," R(" \\n r\\ns \\n", " 2 ") "]", TURN("user", "1") THOUGHT("r\ns", "2")},
    {0, "[" U("1") "," A("2") "]", TURN("user", "1") THOUGHT("", "2")},
    {0, "[" U("1") "," R("", "2") "]", TURN("user", "1") THOUGHT("", "2")},
    {PRESERVE, "[" U("1") "," R("r", "2") "," U("3") "," R("s", "4") "]",
     TURN("user", "1") THOUGHT("r", "2") TURN("user", "3") THOUGHT("s", "4")},
    {0, "[" U("1") "," R("r", "2") "," U("3") "," R("s", "4") "]",
     TURN("user", "1") TURN("assistant", "2") TURN("user", "3") THOUGHT("s", "4")},
    {PRESERVE, "[" U("1") "," A("2") "," U("3") "]",
     TURN("user", "1") THOUGHT("", "2") TURN("user", "3")},
    /* wrapped function results do not begin a query */
    {0,
     "[" U("1") "," R("r", "2") "," U(" <tool_response>\\n5\\n</tool_response>\\n") "," R("s",
                                                                                          "4") "]",
     TURN("user", "1") THOUGHT("r", "2") TURN("user", "<tool_response>\n5\n</tool_response>")
         THOUGHT("s", "4")},
    {0, "[" U("1") "," R("r", "2") "," U("<tool_response>5") "," R("s", "4") "]",
     TURN("user", "1") TURN("assistant", "2") TURN("user", "<tool_response>5") THOUGHT("s", "4")},
    {0, "[" U("1") "," R("r", "2") "," U("5</tool_response>") "]",
     TURN("user", "1") TURN("assistant", "2") TURN("user", "5</tool_response>")},
    /* an inline think block is split out, whether its reasoning is then kept or not */
    {0, "[" U("1") "," A("<think>\\nr\\n</think>\\n\\n2") "]", TURN("user", "1") THOUGHT("r", "2")},
    {0, "[" U("1") "," A("<think>r</think>2") "," U("3") "]",
     TURN("user", "1") TURN("assistant", "2") TURN("user", "3")},
    {0, "[" U("1") "," A("r</think>2") "]", TURN("user", "1") THOUGHT("r", "2")},
    {0, "[" U("1") "," A("x<think>r</think>2") "]", TURN("user", "1") THOUGHT("r", "2")},
    {0, "[" U("1") "," A("<think>a<think>b</think>c</think>\\n2") "]",
     TURN("user", "1") THOUGHT("b", "2")},
    {0, "[" U("1") "," A("<think>r</think>") "]", TURN("user", "1") THOUGHT("r", "")},
    {0, "[" U("1") "," A("<think>r") "]", TURN("user", "1") THOUGHT("", "<think>r")},
    {0, "[" U("1") "," R("", "<think>r</think>2") "]", /* a field, though empty: no split */
     TURN("user", "1") THOUGHT("", "<think>r</think>2")},
    {0, "[" U("<think>r</think>2") "]", TURN("user", "<think>r</think>2")},
    /* turns before any user turn */
    {0, "[" R("r", "0") "," U("1") "]", TURN("assistant", "0") TURN("user", "1")},
    {0, "[{\"role\":\"assistant\",\"content\":\"0\",\"reasoning_content\":null}," U("1") "]",
     TURN("assistant", "0") TURN("user", "1")},
};

Test(template_golden, renderings)
{
    for (size_t i = 0; i < sizeof renderings / sizeof renderings[0]; i++) {
        const struct rendering *r = &renderings[i];
        struct assay_template_options options = options_of(r->flags);
        struct assay_error error = {0};
        char *text;
        size_t bytes;
        assay_status status =
            assay_template_render_json(r->json, strlen(r->json), &options, &text, &bytes, &error);
        cr_assert(status == ASSAY_OK, "%s: %s", r->json, error.message);
        cr_assert(bytes == strlen(r->expected) && strcmp(text, r->expected) == 0,
                  "%s gives\n%s\ninstead of\n%s", r->json, text, r->expected);
        assay_text_free(text);
    }
    cr_assert(assay_live_allocations() == 0);
}

static const struct refusal {
    const char *json, *field;
} refusals[] = {
    {"", "JSON"},
    {"[", "JSON"},
    {"[" U("Hi") "]x", "JSON"},
    {"[" U("\\u0000") "]", "JSON"},
    {"[" U("\xFF") "]", "JSON"},
    {"[{\"role\":\"user\",\"role\":\"user\",\"content\":\"\"}]", "JSON"},
    {"{}", "messages"},
    {"[]", "messages"},
    {"[7]", "messages[0]"},
    {"[[]]", "messages[0]"},
    {"[{}]", "messages[0].role"},
    {"[{\"role\":\"user\"}]", "messages[0].content"},
    {"[{\"role\":\"user\",\"content\":null}]", "messages[0].content"},
    {"[{\"role\":\"user\",\"content\":[\"a\"]}]", "messages[0].content"},
    {"[{\"role\":7,\"content\":\"\"}]", "messages[0].role"},
    {"[{\"role\":\"tool\",\"content\":\"\"}]", "messages[0].role"},
    {"[{\"role\":\"User\",\"content\":\"\"}]", "messages[0].role"},
    {"[{\"role\":\"\",\"content\":\"\"}]", "messages[0].role"},
    {"[" U("Hi") ",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[]}]",
     "messages[1].tool_calls"},
    {"[" U("Hi") ",{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":7}]",
     "messages[1].reasoning_content"},
    {"[{\"role\":\"user\",\"content\":\"\",\"reasoning_content\":\"r\"}]", "messages[0].reasoning"},
    {"[" U("Hi") "," S("late") "]", "messages[1].role"},
    {"[" S("a") "," S("b") "," U("Hi") "]", "messages[1].role"},
    {"[" S("only") "]", "messages"},
    {"[" A("only") "]", "messages"},
    {"[" U("<tool_response>5</tool_response>") "]", "messages"},
};

Test(template_golden, refusals)
{
    struct assay_template_options options = options_of(PROMPT);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];
        struct assay_error error = {0};
        char *text = (char *)1;
        size_t bytes = 9;
        assay_status status =
            assay_template_render_json(r->json, strlen(r->json), &options, &text, &bytes, &error);
        cr_assert(status == ASSAY_E_PARSE, "%s: %s", r->json, assay_status_name(status));
        cr_assert(strcmp(error.what, r->field) == 0, "%s: the error names %s: %s", r->json,
                  error.what, error.message);
        cr_assert(text == NULL && bytes == 0);
    }
    cr_assert(assay_live_allocations() == 0);
}

/* The call without JSON: what JSON cannot carry. */
Test(template_golden, calls)
{
    struct assay_template_options options = options_of(0);
    char *text;
    size_t bytes;
    struct assay_message message = {"user", "Hi", NULL};
    struct assay_error error = {0};
    cr_assert(assay_template_render(NULL, 1, &options, &text, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_template_render(&message, 1, NULL, &text, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_template_render(&message, 1, &options, NULL, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_template_render(&message, 1, &options, &text, NULL, NULL) == ASSAY_E_ARG);
    cr_assert(assay_template_render_json(NULL, 0, &options, &text, &bytes, NULL) == ASSAY_E_ARG);
    cr_assert(assay_template_render(NULL, 0, &options, &text, &bytes, NULL) == ASSAY_E_PARSE);
    message.content = NULL;
    cr_assert(assay_template_render(&message, 1, &options, &text, &bytes, NULL) == ASSAY_E_PARSE);
    message.content = "ab\xC3";
    cr_assert(assay_template_render(&message, 1, &options, &text, &bytes, &error) == ASSAY_E_PARSE);
    cr_assert(strcmp(error.what, "messages[0].content") == 0 &&
              strstr(error.message, "offset 2") != NULL);
    message = (struct assay_message){NULL, "Hi", NULL};
    cr_assert(assay_template_render(&message, 1, &options, &text, &bytes, NULL) == ASSAY_E_PARSE);
    message.role = "user";
    cr_assert(assay_template_render(&message, 1, &options, &text, &bytes, NULL) == ASSAY_OK);
    cr_assert(strcmp(text, TURN("user", "Hi")) == 0 && bytes == strlen(text));
    assay_text_free(text);
    cr_assert(assay_live_allocations() == 0);
}
