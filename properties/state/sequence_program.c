/* SPDX-License-Identifier: MIT
 *
 * Programs over sessions as draws, as bytes and as text.
 */
#include "sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "philox.h"

static const struct {
    const char *name;
    int weight;
} ops[] = {
#define SEQUENCE_OP_ROW(enumerator, name, weight, text) {name, weight},
    SEQUENCE_OP_TABLE(SEQUENCE_OP_ROW)
#undef SEQUENCE_OP_ROW
};

static const assay_trade_set trade_sets[] = {0, 1u << ASSAY_TRADE_GDN_STATE_FP16,
                                             1u << ASSAY_TRADE_EMBEDDING_Q4};
enum { NUM_TRADE_SETS = sizeof trade_sets / sizeof *trade_sets };

const char *sequence_op_name(enum sequence_op op)
{
    return ops[op].name;
}

static void choose_settings(unsigned choice, struct sequence_program *program)
{
    program->chunked = choice % 2 != 0;
    program->trades = trade_sets[choice / 2 % NUM_TRADE_SETS];
}

/* ---- draws --------------------------------------------------------------------------------- */

static enum sequence_op draw_op(uint32_t word)
{
    int total = 0, op = 0;
    for (int i = 0; i < NUM_SEQUENCE_OPS; i++)
        total += ops[i].weight;
    int left = (int)(word % (uint32_t)total);
    while (left >= ops[op].weight)
        left -= ops[op++].weight;
    return (enum sequence_op)op;
}

static void change_one(struct sequence_step *step, const uint32_t words[4])
{
    uint8_t *const numbers[] = {&step->lane, &step->a, &step->b, &step->c};
    const uint32_t which = words[1] % 5;
    if (which == 4)
        step->op = draw_op(words[2]);
    else
        *numbers[which] = (uint8_t)(words[2] % (which == 0 ? SEQUENCE_LANES : 32));
}

void sequence_draw(uint64_t seed, int num_steps, enum assay_backend backend,
                   struct sequence_program *program)
{
    memset(program, 0, sizeof *program);
    program->backend = backend;
    choose_settings((unsigned)(philox_u64(seed, "sequence settings", 0) >> 8), program);
    program->num_steps = num_steps < SEQUENCE_MAX_STEPS ? num_steps : SEQUENCE_MAX_STEPS;
    for (int i = 0; i < program->num_steps; i++) {
        uint32_t words[4];
        struct sequence_step *const step = &program->steps[i];
        philox_stream(seed, "sequence steps", (uint64_t)i, words);
        if (i > 0 && words[0] % 2 != 0) {
            *step = program->steps[i - 1];
            change_one(step, words);
            continue;
        }
        step->op = i == 0 ? SEQUENCE_PREFILL : draw_op(words[1]);
        /* A fault of one lane needs several steps of it. */
        step->lane = i > 0 && words[0] >> 1 & 1 ? program->steps[i - 1].lane
                                                : (uint8_t)(words[2] % SEQUENCE_LANES);
        step->a = (uint8_t)(words[3] % 24);
        step->b = (uint8_t)(words[3] >> 8 & 7);
        step->c = (uint8_t)(words[3] >> 16 & 31);
    }
}

void sequence_from_bytes(const uint8_t *bytes, size_t size, struct sequence_program *program)
{
    enum { STEP_BYTES = 5 };
    memset(program, 0, sizeof *program);
    program->backend = ASSAY_CPU;
    if (size == 0)
        return;
    choose_settings(bytes[0], program);
    for (size_t at = 1; at + STEP_BYTES <= size && program->num_steps < SEQUENCE_MAX_STEPS;
         at += STEP_BYTES)
        program->steps[program->num_steps++] = (struct sequence_step){
            (enum sequence_op)(bytes[at] % NUM_SEQUENCE_OPS),
            (uint8_t)(bytes[at + 1] % SEQUENCE_LANES), bytes[at + 2], bytes[at + 3], bytes[at + 4]};
}

/* ---- text ---------------------------------------------------------------------------------- */

void sequence_print(const struct sequence_program *program, char text[SEQUENCE_TEXT_BYTES])
{
    char trades[256];
    assay_trade_set_format(program->trades, trades, sizeof trades);
    int at = snprintf(text, SEQUENCE_TEXT_BYTES, "sequence backend=%s mode=%s trades=%s steps=",
                      assay_backend_name(program->backend),
                      program->chunked ? "chunked" : "recurrent", trades);
    for (int i = 0; i < program->num_steps && at < SEQUENCE_TEXT_BYTES; i++) {
        const struct sequence_step *const s = &program->steps[i];
        at += snprintf(text + at, (size_t)(SEQUENCE_TEXT_BYTES - at), "%s%s.%d.%d.%d.%d",
                       i > 0 ? "," : "", ops[s->op].name, s->lane, s->a, s->b, s->c);
    }
}

static bool refuse(char *reason, const char *what, const char *found)
{
    snprintf(reason, SEQUENCE_REASON_BYTES, "%s: %.80s", what, found);
    return false;
}

static bool parse_step(const char *text, struct sequence_step *step)
{
    const char *const dot = strchr(text, '.');
    unsigned numbers[4];
    char end;
    if (dot == NULL || sscanf(dot, ".%3u.%3u.%3u.%3u%c", &numbers[0], &numbers[1], &numbers[2],
                              &numbers[3], &end) != 4)
        return false;
    for (int i = 0; i < 4; i++)
        if (numbers[i] > (i == 0 ? SEQUENCE_LANES - 1 : UINT8_MAX))
            return false;
    for (int op = 0; op < NUM_SEQUENCE_OPS; op++)
        if (strlen(ops[op].name) == (size_t)(dot - text) &&
            memcmp(ops[op].name, text, (size_t)(dot - text)) == 0) {
            *step = (struct sequence_step){(enum sequence_op)op, (uint8_t)numbers[0],
                                           (uint8_t)numbers[1], (uint8_t)numbers[2],
                                           (uint8_t)numbers[3]};
            return true;
        }
    return false;
}

static bool parse_steps(char *text, struct sequence_program *program, char *reason)
{
    char *rest = NULL;
    for (char *step = strtok_r(text, ",", &rest); step != NULL; step = strtok_r(NULL, ",", &rest)) {
        if (program->num_steps == SEQUENCE_MAX_STEPS)
            return refuse(reason, "too many steps", step);
        if (!parse_step(step, &program->steps[program->num_steps++]))
            return refuse(reason, "no step is written so (op.lane.a.b.c)", step);
    }
    return true;
}

static bool parse_backend(const char *value, enum assay_backend *backend)
{
    for (int i = 0; i < ASSAY_NUM_BACKENDS; i++)
        if (strcmp(value, assay_backend_name((enum assay_backend)i)) == 0) {
            *backend = (enum assay_backend)i;
            return true;
        }
    return false;
}

/* What stands in the line beside the program itself. */
struct drawn {
    uint64_t seed;
    int length; /* 0: the steps are given */
};

static bool parse_field(char *field, struct sequence_program *program, struct drawn *drawn,
                        char *reason)
{
    char *const equals = strchr(field, '=');
    if (equals == NULL)
        return refuse(reason, "no field is written so (name=value)", field);
    char *const value = equals + 1;
    *equals = '\0';
    if (strcmp(field, "backend") == 0)
        return parse_backend(value, &program->backend) || refuse(reason, "no backend", value);
    if (strcmp(field, "mode") == 0) {
        program->chunked = strcmp(value, "chunked") == 0;
        return program->chunked || strcmp(value, "recurrent") == 0 ||
               refuse(reason, "mode is chunked or recurrent, not", value);
    }
    if (strcmp(field, "trades") == 0)
        return assay_trade_set_parse(value, &program->trades, NULL) == ASSAY_OK ||
               refuse(reason, "no list of trades", value);
    if (strcmp(field, "steps") == 0)
        return parse_steps(value, program, reason);
    char *end;
    const unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0')
        return refuse(reason, "no number", value);
    if (strcmp(field, "seed") == 0)
        drawn->seed = number;
    else if (strcmp(field, "length") == 0 && number >= 1 && number <= SEQUENCE_MAX_STEPS)
        drawn->length = (int)number;
    else
        return refuse(reason, "no such field, or a length outside 1 .. 64", field);
    return true;
}

bool sequence_parse(const char *text, struct sequence_program *program,
                    char reason[SEQUENCE_REASON_BYTES])
{
    char copy[SEQUENCE_TEXT_BYTES], *rest = NULL;
    struct drawn drawn = {0, 0};
    memset(program, 0, sizeof *program);
    if (strlen(text) >= sizeof copy)
        return refuse(reason, "longer than any program", text);
    snprintf(copy, sizeof copy, "%s", text);
    const char *const word = strtok_r(copy, " ", &rest);
    if (word == NULL || strcmp(word, "sequence") != 0)
        return refuse(reason, "does not begin with \"sequence\"", text);
    for (char *field = strtok_r(NULL, " ", &rest); field != NULL;
         field = strtok_r(NULL, " ", &rest))
        if (!parse_field(field, program, &drawn, reason))
            return false;
    if (drawn.length > 0 && program->num_steps > 0)
        return refuse(reason, "steps and length exclude each other", text);
    if (drawn.length > 0)
        sequence_draw(drawn.seed, drawn.length, program->backend, program);
    return program->num_steps > 0 || refuse(reason, "no steps", text);
}
