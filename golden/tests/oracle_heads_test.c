/* SPDX-License-Identifier: MIT
 *
 * model.oracle.heads: what tiny-hybrid cannot show, on a random model with two key heads, three
 * value heads to a key head, three queries to a KV head and a size that is no multiple of any tile:
 * which head reads which (F9, F14), and the recurrence (F15) against its chunked form (F17).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "oracle_fixture.h"

#define H            20
#define VOCAB        11
#define INTERMEDIATE 24
#define NQ           6
#define NKV          2
#define D            12
#define HK           2
#define HV           6
#define DK           10
#define DV           9
#define TAPS         4
#define CHANNELS     (2 * HK * DK + HV * DV)
#define TOKENS       70    /* more than one block of queries in the oracle */
#define TOLERANCE    1e-12 /* results of order 1, sums of fewer than 200 terms: gamma_200 = 2e-14 */

static const char config[] =
    "{\"model_type\": \"qwen3_5\", \"text_config\": {\"model_type\": \"qwen3_5_text\","
    "\"vocab_size\": 11, \"hidden_size\": 20, \"intermediate_size\": 24, \"num_hidden_layers\": 2,"
    "\"num_attention_heads\": 6, \"num_key_value_heads\": 2, \"head_dim\": 12,"
    "\"linear_conv_kernel_dim\": 4, \"linear_num_key_heads\": 2, \"linear_num_value_heads\": 6,"
    "\"linear_key_head_dim\": 10, \"linear_value_head_dim\": 9, \"full_attention_interval\": 2,"
    "\"rope_parameters\": {\"rope_theta\": 10000.0, \"partial_rotary_factor\": 0.5}},"
    "\"tie_word_embeddings\": true}";

struct entry {
    const char *name;
    int rows, cols; /* cols 0: a vector */
};

#define TEXT "model.language_model."
#define FFN(layer)                                                       \
    {TEXT "layers." layer ".input_layernorm.weight", H, 0},              \
        {TEXT "layers." layer ".post_attention_layernorm.weight", H, 0}, \
        {TEXT "layers." layer ".mlp.gate_proj.weight", INTERMEDIATE, H}, \
        {TEXT "layers." layer ".mlp.up_proj.weight", INTERMEDIATE, H},   \
    {                                                                    \
        TEXT "layers." layer ".mlp.down_proj.weight", H, INTERMEDIATE    \
    }

static const struct entry entries[] = {
    {TEXT "embed_tokens.weight", VOCAB, H},
    {TEXT "norm.weight", H, 0},
    FFN("0"),
    {TEXT "layers.0.linear_attn.in_proj_qkv.weight", CHANNELS, H},
    {TEXT "layers.0.linear_attn.in_proj_z.weight", HV *DV, H},
    {TEXT "layers.0.linear_attn.in_proj_b.weight", HV, H},
    {TEXT "layers.0.linear_attn.in_proj_a.weight", HV, H},
    {TEXT "layers.0.linear_attn.conv1d.weight", CHANNELS, TAPS},
    {TEXT "layers.0.linear_attn.out_proj.weight", H, HV *DV},
    {TEXT "layers.0.linear_attn.A_log", HV, 0},
    {TEXT "layers.0.linear_attn.dt_bias", HV, 0},
    {TEXT "layers.0.linear_attn.norm.weight", DV, 0},
    FFN("1"),
    {TEXT "layers.1.self_attn.q_proj.weight", 2 * NQ *D, H},
    {TEXT "layers.1.self_attn.k_proj.weight", NKV *D, H},
    {TEXT "layers.1.self_attn.v_proj.weight", NKV *D, H},
    {TEXT "layers.1.self_attn.o_proj.weight", H, NQ *D},
    {TEXT "layers.1.self_attn.q_norm.weight", D, 0},
    {TEXT "layers.1.self_attn.k_norm.weight", D, 0},
};

#define NUM_ENTRIES (sizeof entries / sizeof entries[0])

/* In (-1, 1), the same on every machine. */
static float noise(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)((double)(state >> 40) * 0x1p-23 - 1);
}

static void write_model(const char *dir)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fputs(config, file) < 0, 0);
    cr_assert_eq(fclose(file), 0);

    static char header[8192];
    size_t length = 0, offset = 0;
    for (size_t i = 0; i < NUM_ENTRIES; i++) {
        int rows = entries[i].rows, cols = entries[i].cols;
        size_t bytes = (size_t)(rows * (cols > 0 ? cols : 1)) * sizeof(float);
        char shape[32];
        (void)snprintf(shape, sizeof shape, cols > 0 ? "%d,%d" : "%d", rows, cols);
        length +=
            (size_t)snprintf(header + length, sizeof header - length,
                             "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":"
                             "[%zu,%zu]}",
                             i == 0 ? '{' : ',', entries[i].name, shape, offset, offset + bytes);
        offset += bytes;
    }
    header[length++] = '}';
    (void)snprintf(path, sizeof path, "%s/model.safetensors", dir);
    file = fopen(path, "wb");
    cr_assert_not_null(file);
    for (int i = 0; i < 8; i++)
        (void)fputc((int)(length >> 8 * i & 255), file);
    cr_assert_eq(fwrite(header, 1, length, file), length);
    for (size_t i = 0; i < offset / sizeof(float); i++) {
        float value = noise();
        cr_assert_eq(fwrite(&value, sizeof value, 1, file), 1);
    }
    cr_assert_eq(fclose(file), 0);
}

/* What the formulas below start from and are compared with. */
struct seen {
    double conv[TOKENS * CHANNELS], q[TOKENS * HK * DK], k[TOKENS * HK * DK];
    double beta[TOKENS * HV], g[TOKENS * HV], core[TOKENS * HV * DV], state[HV * DK * DV];
    double q_rope[TOKENS * NQ * D], k_rope[TOKENS * NKV * D], v[TOKENS * NKV * D];
    double attn[TOKENS * NQ * D];
    int copied;
};

static void watch(void *data, const char *name, const double *values, int64_t rows, int64_t cols)
{
    struct seen *s = data;
    const struct {
        const char *name;
        double *to;
        size_t bytes;
    } wanted[] = {{"layers.0.conv_out", s->conv, sizeof s->conv},
                  {"layers.0.q_l2norm", s->q, sizeof s->q},
                  {"layers.0.k_l2norm", s->k, sizeof s->k},
                  {"layers.0.beta", s->beta, sizeof s->beta},
                  {"layers.0.g", s->g, sizeof s->g},
                  {"layers.0.core_out", s->core, sizeof s->core},
                  {"layers.0.state", s->state, sizeof s->state},
                  {"layers.1.q_rope", s->q_rope, sizeof s->q_rope},
                  {"layers.1.k_rope", s->k_rope, sizeof s->k_rope},
                  {"layers.1.v", s->v, sizeof s->v},
                  {"layers.1.attn_out", s->attn, sizeof s->attn}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strcmp(wanted[i].name, name) == 0) {
            cr_assert_eq((size_t)(rows * cols) * sizeof(double), wanted[i].bytes, "%s", name);
            memcpy(wanted[i].to, values, wanted[i].bytes);
            s->copied++;
        }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* (F17) with all tokens as one chunk and an empty start state, so that U alone is needed:
 * U_i = beta_i (v_i - sum_{j<i} Gam_ij (k_i . k_j) U_j), o_i = sum_{j<=i} Gam_ij (q_i . k_j) U_j.
 * Returns the largest difference from the recurrence, over outputs and final state. */
static double chunked_difference(const struct seen *s, int head)
{
    static double u[TOKENS][DV];
    double cumulated[TOKENS], difference = 0;
    int key_head = head / (HV / HK);
    for (int i = 0; i < TOKENS; i++) {
        const double *k_i = s->k + (i * HK + key_head) * DK, *q_i = s->q + (i * HK + key_head) * DK;
        const double *v_i = s->conv + i * CHANNELS + 2 * HK * DK + head * DV;
        double out[DV] = {0};
        cumulated[i] = s->g[i * HV + head] + (i > 0 ? cumulated[i - 1] : 0);
        memcpy(u[i], v_i, sizeof u[i]);
        for (int j = 0; j < i; j++) {
            double weight =
                exp(cumulated[i] - cumulated[j]) * dot(k_i, s->k + (j * HK + key_head) * DK, DK);
            for (int d = 0; d < DV; d++)
                u[i][d] -= weight * u[j][d];
        }
        for (int d = 0; d < DV; d++)
            u[i][d] *= s->beta[i * HV + head];
        for (int j = 0; j <= i; j++) {
            double weight = exp(cumulated[i] - cumulated[j]) / sqrt(DK) *
                            dot(q_i, s->k + (j * HK + key_head) * DK, DK);
            for (int d = 0; d < DV; d++)
                out[d] += weight * u[j][d];
        }
        difference =
            fmax(difference, fixture_max_difference(out, s->core + (i * HV + head) * DV, DV));
    }
    for (int a = 0; a < DK; a++)
        for (int d = 0; d < DV; d++) {
            double sum = 0;
            for (int i = 0; i < TOKENS; i++)
                sum += exp(cumulated[TOKENS - 1] - cumulated[i]) *
                       s->k[(i * HK + key_head) * DK + a] * u[i][d];
            difference = fmax(difference, fabs(sum - s->state[(head * DK + a) * DV + d]));
        }
    return difference;
}

/* (F9) by the definition. */
static double attention_difference(const struct seen *s, int head)
{
    int kv = head / (NQ / NKV);
    double difference = 0;
    for (int t = 0; t < TOKENS; t++) {
        double out[D] = {0}, sum = 0;
        for (int j = 0; j <= t; j++) {
            double score = dot(s->q_rope + (t * NQ + head) * D, s->k_rope + (j * NKV + kv) * D, D);
            double weight = exp(score / sqrt(D));
            sum += weight;
            for (int d = 0; d < D; d++)
                out[d] += weight * s->v[(j * NKV + kv) * D + d];
        }
        for (int d = 0; d < D; d++)
            out[d] /= sum;
        difference =
            fmax(difference, fixture_max_difference(out, s->attn + (t * NQ + head) * D, D));
    }
    return difference;
}

/* Fills *seen and returns the largest difference over all heads. */
static double examine(const struct oracle_model *model, enum oracle_fault fault, struct seen *seen)
{
    int32_t ids[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        ids[i] = i * i % VOCAB;
    seen->copied = 0;
    struct oracle_session *session = fixture_session(model, ORACLE_FLOAT64, fault);
    fixture_forward(session, ids, TOKENS, &(struct oracle_outputs){.observe = watch, .data = seen});
    oracle_session_free(session);
    cr_assert_eq(seen->copied, 11, "%d tensors seen", seen->copied);
    double difference = 0;
    for (int head = 0; head < HV; head++)
        difference = fmax(difference, chunked_difference(seen, head));
    for (int head = 0; head < NQ; head++)
        difference = fmax(difference, attention_difference(seen, head));
    return difference;
}

Test(model_oracle, heads)
{
    char dir[] = "/tmp/assay-heads-XXXXXX", path[64], message[512] = "";
    cr_assert_not_null(mkdtemp(dir));
    write_model(dir);
    struct oracle_model *model;
    assay_status status = oracle_model_open(dir, &model, message, sizeof message);
    cr_assert_eq(status, ASSAY_OK, "%s", message);
    (void)snprintf(path, sizeof path, "%s/config.json", dir);
    cr_assert_eq(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/model.safetensors", dir);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(dir), 0);

    static struct seen seen;
    double difference = examine(model, ORACLE_FAULT_NONE, &seen);
    double mistaken = examine(model, ORACLE_FAULT_KEY_HEAD_MODULO, &seen);
    cr_log_info("largest difference %.1e; with the wrong key head %.1e", difference, mistaken);
    cr_assert_leq(difference, TOLERANCE, "%g", difference);
    cr_assert_gt(mistaken, 1e-3, "the wrong key head survives: %g", mistaken);
    oracle_model_close(model);
}
