/* SPDX-License-Identifier: MIT
 *
 * ChatML as the templates of the 3.5 and 3.6 models render it. qwen3_5.md section 9.4.
 */
#include <assay/tokenizer.h>

#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "text/text_buffer.h"
#include "text/utf8.h"

#define WHERE "chat template"

/* A part of a message's text. */
struct span {
    const char *data;
    size_t bytes;
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };
static const char *const role_names[] = {"system", "user", "assistant"};

/* What Python's str.strip removes, which is what the templates' trim filter does. It is White_Space
 * and the four separators U+001C to U+001F. */
static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static struct span trim(struct span text) /* valid UTF-8 */
{
    while (text.bytes > 0) {
        struct utf8_part part = utf8_first((const unsigned char *)text.data, text.bytes);
        if (!is_space(part.code_point))
            break;
        text.data += part.length;
        text.bytes -= (size_t)part.length;
    }
    while (text.bytes > 0) {
        size_t last = text.bytes - 1;
        while (last > 0 && ((unsigned char)text.data[last] & 0xC0) == 0x80)
            last--;
        struct utf8_part part =
            utf8_first((const unsigned char *)text.data + last, text.bytes - last);
        if (!is_space(part.code_point))
            break;
        text.bytes = last;
    }
    return text;
}

static struct span trim_newlines_left(struct span text)
{
    while (text.bytes > 0 && text.data[0] == '\n') {
        text.data++;
        text.bytes--;
    }
    return text;
}

static bool at_mark(struct span text, size_t at, const char *mark)
{
    size_t bytes = strlen(mark);
    return bytes <= text.bytes - at && memcmp(text.data + at, mark, bytes) == 0;
}

/* Offset of the first or last occurrence of a mark, -1 when there is none. */
static int64_t find(struct span text, const char *mark, bool last)
{
    int64_t found = -1;
    for (size_t at = 0; at < text.bytes; at++) {
        if (!at_mark(text, at, mark))
            continue;
        found = (int64_t)at;
        if (!last)
            break;
    }
    return found;
}

static struct span part(struct span text, size_t from, size_t to)
{
    return (struct span){text.data + from, to - from};
}

#define THINK     "<think>"
#define END_THINK "</think>"

/* Splits an inline think block out of an assistant's text: the reasoning stands before the first
 * end mark and after the last opening mark there, the answer after the last end mark. */
static void split_reasoning(struct span *content, struct span *reasoning)
{
    int64_t first_end = find(*content, END_THINK, false);
    if (first_end < 0)
        return;
    struct span thought = part(*content, 0, (size_t)first_end);
    int64_t begin = find(thought, THINK, true);
    if (begin >= 0)
        thought = part(thought, (size_t)begin + strlen(THINK), thought.bytes);
    *reasoning = thought;
    size_t answer = (size_t)find(*content, END_THINK, true) + strlen(END_THINK);
    *content = trim_newlines_left(part(*content, answer, content->bytes));
}

/* A user turn that only carries function results does not begin a new query. */
static bool is_function_result(struct span content)
{
    static const char begin[] = "<tool_response>", end[] = "</tool_response>";
    return content.bytes >= sizeof begin - 1 && content.bytes >= sizeof end - 1 &&
           at_mark(content, 0, begin) && at_mark(content, content.bytes - (sizeof end - 1), end);
}

/* ---- checks --------------------------------------------------------------------------------- */

static assay_status check_text(const char *text, const char *field, struct assay_error *error)
{
    size_t bytes = strlen(text);
    size_t valid = utf8_valid_prefix((const unsigned char *)text, bytes);
    if (valid < bytes)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field, "invalid UTF-8 at byte offset %zu",
                          valid);
    return ASSAY_OK;
}

static int role_of(const struct assay_message *message)
{
    for (int role = ROLE_SYSTEM; role <= ROLE_ASSISTANT; role++)
        if (message->role != NULL && strcmp(message->role, role_names[role]) == 0)
            return role;
    return -1;
}

static assay_status check_message(const struct assay_message *message, size_t index,
                                  struct assay_error *error)
{
    char field[64];
    int role = role_of(message);
    snprintf(field, sizeof field, "messages[%zu].role", index);
    if (role < 0)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field,
                          "must be \"system\", \"user\" or \"assistant\", is \"%.60s\"",
                          message->role != NULL ? message->role : "(null)");
    if (role == ROLE_SYSTEM && index > 0)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field,
                          "a system message must be the first message");
    snprintf(field, sizeof field, "messages[%zu].content", index);
    if (message->content == NULL)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field, "must be a text, is NULL");
    ASSAY_TRY(check_text(message->content, field, error));
    if (message->reasoning == NULL)
        return ASSAY_OK;
    snprintf(field, sizeof field, "messages[%zu].reasoning", index);
    if (role != ROLE_ASSISTANT)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, field, "only assistant messages have one");
    return check_text(message->reasoning, field, error);
}

/* Checks all messages and finds the last real user query. */
static assay_status check_messages(const struct assay_message *messages, size_t num_messages,
                                   size_t *last_query, struct assay_error *error)
{
    if (num_messages == 0)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, "messages", "there is no message");
    bool has_query = false;
    for (size_t i = 0; i < num_messages; i++) {
        ASSAY_TRY(check_message(&messages[i], i, error));
        struct span content = {messages[i].content, strlen(messages[i].content)};
        if (role_of(&messages[i]) == ROLE_USER && !is_function_result(trim(content))) {
            has_query = true;
            *last_query = i;
        }
    }
    if (!has_query)
        return assay_fail(error, ASSAY_E_PARSE, WHERE, "messages",
                          "there is no user message with a query");
    return ASSAY_OK;
}

/* ---- rendering ------------------------------------------------------------------------------ */

static bool put(struct text_buffer *out, const char *text)
{
    return text_buffer_append(out, text, strlen(text));
}

static bool put_span(struct text_buffer *out, struct span text)
{
    return text_buffer_append(out, text.data, text.bytes);
}

static bool put_message(struct text_buffer *out, const struct assay_message *message,
                        bool keep_reasoning)
{
    int role = role_of(message);
    struct span content = trim((struct span){message->content, strlen(message->content)});
    struct span reasoning = {"", 0};
    if (role == ROLE_ASSISTANT && message->reasoning != NULL)
        reasoning = (struct span){message->reasoning, strlen(message->reasoning)};
    else if (role == ROLE_ASSISTANT)
        split_reasoning(&content, &reasoning);

    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): check_message refused unknown roles */
    bool done = put(out, "<|im_start|>") && put(out, role_names[role]) && put(out, "\n");
    /* A kept turn has its block even when there is no reasoning: the model has seen it so. */
    if (role == ROLE_ASSISTANT && keep_reasoning)
        done = done && put(out, "<think>\n") && put_span(out, trim(reasoning)) &&
               put(out, "\n</think>\n\n");
    return done && put_span(out, content) && put(out, "<|im_end|>\n");
}

static bool put_all(struct text_buffer *out, const struct assay_message *messages,
                    size_t num_messages, size_t last_query,
                    const struct assay_template_options *options)
{
    for (size_t i = 0; i < num_messages; i++)
        if (!put_message(out, &messages[i], options->preserve_thinking || i > last_query))
            return false;
    if (!options->add_generation_prompt)
        return true;
    return put(out, "<|im_start|>assistant\n") &&
           put(out, options->thinking ? "<think>\n" : "<think>\n\n</think>\n\n");
}

assay_status assay_template_render(const struct assay_message *messages, size_t num_messages,
                                   const struct assay_template_options *options, char **text,
                                   size_t *bytes, struct assay_error *error)
{
    if (text != NULL)
        *text = NULL;
    if (bytes != NULL)
        *bytes = 0;
    if ((messages == NULL && num_messages > 0) || options == NULL || text == NULL || bytes == NULL)
        return assay_fail(error, ASSAY_E_ARG, WHERE, "arguments", "must not be NULL");
    size_t last_query = 0;
    ASSAY_TRY(check_messages(messages, num_messages, &last_query, error));
    struct text_buffer out = {0};
    if (!put_all(&out, messages, num_messages, last_query, options)) {
        assay_free(out.data);
        return assay_fail(error, ASSAY_E_MEMORY, WHERE, "text", "no memory for the text");
    }
    *text = out.data;
    *bytes = out.bytes;
    return ASSAY_OK;
}
