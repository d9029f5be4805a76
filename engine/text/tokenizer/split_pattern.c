/* SPDX-License-Identifier: MIT
 *
 * The split pattern: compiled once, then one match after another over a text.
 *
 * Neither pattern nor text is trusted to be quick. Matches are anchored and walk the text here, so
 * that one call of PCRE2 is one place; a call may take STEPS_BASE match steps for nothing, more
 * only out of a budget that is linear in the text. PCRE2 does not count the bytes that a repeat
 * runs over between steps, so the thread's CPU time is looked at now and then as well.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizer/tokenizer_parts.h"

#include <string.h>
#include <time.h>

#include <pcre2.h>

#include "core/core.h"
#include "text/utf8.h"

enum {
    MAX_PATTERN_BYTES = 16384,
    MAX_NESTING = 64,
    HEAP_KIB = 64 * 1024,
    STEPS_BASE = 256,
    STEPS_FACTOR = 4, /* how much more a call gets that ran out */
    STEPS_PER_BYTE = 64,
    STEPS_PER_TEXT = 1 << 22,
    CLOCK_EVERY = 64 << 20,
};

struct split_pattern {
    pcre2_general_context *memory;
    pcre2_code *code;
};

static void *pcre_alloc(PCRE2_SIZE bytes, void *unused)
{
    (void)unused;
    return assay_alloc(bytes);
}

static void pcre_free(void *memory, void *unused)
{
    (void)unused;
    assay_free(memory);
}

static assay_status no_memory(struct assay_error *error)
{
    return assay_fail(error, ASSAY_E_MEMORY, TOKENIZER_FILE, "pre_tokenizer",
                      "no memory for the split pattern");
}

static assay_status compile(struct split_pattern *pattern, const char *translated,
                            struct assay_error *error)
{
    pcre2_compile_context *context = pcre2_compile_context_create(pattern->memory);
    if (context == NULL)
        return no_memory(error);
    pcre2_set_max_pattern_length(context, MAX_PATTERN_BYTES);
    pcre2_set_parens_nest_limit(context, MAX_NESTING);
    int code;
    PCRE2_SIZE offset;
    pattern->code = pcre2_compile((PCRE2_SPTR)translated, PCRE2_ZERO_TERMINATED,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C,
                                  &code, &offset, context);
    pcre2_compile_context_free(context);
    if (pattern->code == NULL && code == PCRE2_ERROR_HEAP_FAILED)
        return no_memory(error);
    if (pattern->code == NULL) {
        PCRE2_UCHAR reason[160];
        pcre2_get_error_message(code, reason, sizeof reason);
        return assay_fail(error, ASSAY_E_PARSE, TOKENIZER_FILE, "pre_tokenizer",
                          "the split pattern is refused by PCRE2 (as \"%.200s\"): %s at byte %zu",
                          translated, (const char *)reason, (size_t)offset);
    }
    /* Without a JIT compiler, or memory for it, the interpreter finds the same matches. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return ASSAY_OK;
}

assay_status split_pattern_compile(const char *source, struct split_pattern **compiled,
                                   struct assay_error *error)
{
    *compiled = NULL;
    char *translated;
    ASSAY_TRY(split_translate(source, &translated, error));
    struct split_pattern *pattern = assay_alloc_zero(1, sizeof *pattern);
    assay_status status = ASSAY_OK;
    if (pattern != NULL)
        pattern->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (pattern == NULL || pattern->memory == NULL)
        status = no_memory(error);
    else
        status = compile(pattern, translated, error);
    assay_free(translated);
    if (status != ASSAY_OK)
        split_pattern_free(pattern);
    else
        *compiled = pattern;
    return status;
}

void split_pattern_free(struct split_pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    pcre2_general_context_free(pattern->memory);
    assay_free(pattern);
}

static double cpu_seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return 0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

assay_status split_run_begin(struct split_run *run, const struct split_pattern *pattern,
                             size_t bytes, struct assay_error *error)
{
    *run = (struct split_run){
        .pattern = pattern,
        .match_context = pcre2_match_context_create(pattern->memory),
        .match_data = pcre2_match_data_create(1, pattern->memory),
        .budget = STEPS_PER_TEXT + (uint64_t)bytes * STEPS_PER_BYTE,
        /* some fifty times what prose takes on a slow core */
        .cpu_deadline = cpu_seconds() + 2 + 5e-6 * (double)bytes,
    };
    if (run->match_context == NULL || run->match_data == NULL) {
        split_run_end(run);
        return no_memory(error);
    }
    pcre2_set_heap_limit(run->match_context, HEAP_KIB);
    return ASSAY_OK;
}

void split_run_end(struct split_run *run)
{
    pcre2_match_context_free(run->match_context);
    pcre2_match_data_free(run->match_data);
    run->match_context = NULL;
    run->match_data = NULL;
}

static assay_status too_slow(struct assay_error *error, size_t at)
{
    return assay_fail(error, ASSAY_E_UNSUPPORTED, TOKENIZER_FILE, "pre_tokenizer",
                      "the split pattern takes too many steps on this text (at byte %zu of a part "
                      "between added tokens)",
                      at);
}

/* Length of the match at `at`, -1 when there is none. */
static assay_status match_at(struct split_run *run, const unsigned char *text, size_t bytes,
                             size_t at, int64_t *length, struct assay_error *error)
{
    uint32_t steps = STEPS_BASE, options = PCRE2_NO_UTF_CHECK;
    run->scanned += bytes - at;
    if (run->scanned >= CLOCK_EVERY) {
        run->scanned = 0;
        if (cpu_seconds() > run->cpu_deadline)
            return too_slow(error, at);
    }
    for (;;) {
        pcre2_set_match_limit(run->match_context, steps);
        int result = pcre2_match(run->pattern->code, text, bytes, at, options, run->match_data,
                                 run->match_context);
        if (result == PCRE2_ERROR_MATCHLIMIT) {
            if (steps > UINT32_MAX / STEPS_FACTOR || steps * STEPS_FACTOR > run->budget)
                return too_slow(error, at);
            steps *= STEPS_FACTOR;
            run->budget -= steps;
        } else if (result == PCRE2_ERROR_JIT_STACKLIMIT && (options & PCRE2_NO_JIT) == 0) {
            options |= PCRE2_NO_JIT; /* the interpreter's frames are on the heap */
        } else if (result == PCRE2_ERROR_NOMATCH) {
            *length = -1;
            return ASSAY_OK;
        } else if (result == PCRE2_ERROR_NOMEMORY) {
            return no_memory(error);
        } else if (result < 0) {
            return too_slow(error, at);
        } else {
            const PCRE2_SIZE *match = pcre2_get_ovector_pointer(run->match_data);
            *length = (int64_t)(match[1] - match[0]);
            return ASSAY_OK;
        }
    }
}

assay_status split_run_next(struct split_run *run, const unsigned char *text, size_t bytes,
                            size_t start, size_t *end, struct assay_error *error)
{
    int64_t length = 0;
    ASSAY_TRY(match_at(run, text, bytes, start, &length, error));
    if (length > 0) {
        *end = start + (size_t)length;
        return ASSAY_OK;
    }
    /* No match, or an empty one: the word is the gap up to the next match, which may be empty
     * there, because an empty match is a cut. */
    *end = start;
    do {
        *end += (size_t)utf8_first(text + *end, bytes - *end).length;
        if (*end >= bytes)
            return ASSAY_OK;
        ASSAY_TRY(match_at(run, text, bytes, *end, &length, error));
    } while (length < 0);
    return ASSAY_OK;
}
