/* SPDX-License-Identifier: MIT
 *
 * Replayed decode steps give the bits of the calls that they were recorded from, whatever happens
 * between the replays; and each of the faults that graphs invite makes one of these laws fail. One
 * line a law. Exit status: 0, 1 when a law does not hold, 77 without a device.
 *
 *   replay_laws [MODEL [WORD]]    the default is golden/models/tiny-hybrid; WORD: only the laws of
 * one session whose names contain it, for slow tools
 */
#include <stdio.h>
#include <string.h>

#include <assay/ops/add.h>

#include "replay_mutants.h"
#include "replay_play.h"

enum { LONG_RUN = 256 };

static const assay_model *model;
static int num_failed;

static void report(bool holds, const char *name, const char *detail)
{
    printf("%s  %s%s%s\n", holds ? "ok  " : "FAIL", name, detail[0] != '\0' ? ": " : "", detail);
    fflush(stdout);
    num_failed += !holds;
}

/* What the script gives call by call, in a context of its own. */
static bool reference(const struct script *script, struct trace *trace)
{
    struct player player;
    const bool played =
        player_open(&player, model, NULL, false, NULL) && play(&player, script, NULL, NULL, trace);
    player_close(&player);
    return played;
}

struct law {
    const char *name;
    struct script script;
    between_steps *between;
    int64_t least_recorded; /* graphs that the law must see recorded */
};

/* Plays the law's script with graphs; equal to the reference? route: a planted fault, or NULL. */
static bool holds(const struct law *law, const char *route)
{
    struct trace expected = {0}, found = {0};
    struct player player = {0};
    int64_t recorded = 0, replayed = 0;
    bool same =
        reference(&law->script, &expected) && player_open(&player, model, NULL, true, route) &&
        play(&player, &law->script, law->between, NULL, &found) && trace_same(&found, &expected);
    if (same) {
        assay_session_graph_counts(player.session, &recorded, &replayed);
        snprintf(play_error, sizeof play_error, "%lld steps of %lld, %lld recorded, %lld replayed",
                 (long long)law->script.steps, (long long)law->script.width, (long long)recorded,
                 (long long)replayed);
        /* The first step of each kind is run call by call. */
        same = recorded >= law->least_recorded && replayed >= law->script.steps - 2 * recorded;
    }
    player_close(&player);
    trace_free(&expected);
    trace_free(&found);
    return same;
}

/* ---- between the steps --------------------------------------------------------------------- */

static bool poison(struct player *player, int64_t step, void *user)
{
    struct assay_error error = {.status = ASSAY_OK};
    (void)step;
    (void)user;
    return assay_session_poison(player->session, &error) == ASSAY_OK;
}

/* The old pool stays and holds NaN: who still reads or writes it shows. */
static bool move_pool(struct player *player, int64_t step, void *user)
{
    struct assay_error error = {.status = ASSAY_OK};
    const struct assay_model_config *config = assay_model_config(player->model);
    void *old;
    (void)user;
    if (step != 10 && step != 30)
        return true;
    if (assay_session_move_kv(player->session, &old, &error) != ASSAY_OK)
        return false;
    player->old_pools[player->num_old_pools++] = old;
    /* Less than the pool, whose parts are padded; the K rows of the first layer at least. */
    const size_t bytes = (size_t)(PLAY_CAPACITY * config->num_kv_heads * config->head_dim) * 2;
    return assay_buffer_fill(player->context, old, 0xff, bytes) == ASSAY_OK;
}

/* An op that needs more workspace than any before makes the context move it. */
static size_t growing_bytes(const assay_context *context, const void *args)
{
    static size_t bytes = (size_t)16 << 20;
    (void)context;
    (void)args;
    bytes += (size_t)16 << 20;
    return bytes;
}

static assay_status growing_run(assay_context *context, const void *args, void *workspace)
{
    (void)args;
    return assay_buffer_fill(context, workspace, 0xff, 1 << 20);
}

static const struct assay_route growing = {.name = "add.growing_workspace.test",
                                           .backend = ASSAY_CUDA,
                                           .workspace = growing_bytes,
                                           .run = growing_run};

static bool grow_workspace(struct player *player, int64_t step, void *user)
{
    void *memory;
    (void)user;
    if (step % 16 != 8)
        return true;
    if (assay_buffer_create(player->context, 4096, &memory) != ASSAY_OK)
        return false;
    struct assay_add_args args = {.a = assay_tensor_2d(memory, ASSAY_F32, 1, 256)};
    args.b = args.y = args.a;
    args.b.data = (float *)memory + 256;
    args.y.data = (float *)memory + 512;
    const bool grown = assay_context_force_route(player->context, growing.name) == ASSAY_OK &&
                       assay_run_op(player->context, assay_op_find("add"), &args) == ASSAY_OK &&
                       assay_context_force_route(player->context, NULL) == ASSAY_OK;
    assay_buffer_destroy(player->context, memory);
    return grown;
}

/* ---- laws of one session ------------------------------------------------------------------- */

static const struct law laws[] = {
    {"eager = recorded = replayed", {7, LONG_RUN, 1, 1, false}, NULL, 2},
    {"workspace and scratch poisoned", {9, 64, 1, 2, false}, poison, 1},
    {"poisoned, width 5", {9, 24, 5, 2, true}, poison, 1},
    {"KV pool moved", {20, 48, 1, 3, false}, move_pool, 3},
    {"recorded again after the workspace moved", {20, 64, 1, 4, false}, grow_workspace, 4},
    {"across the tier at 256", {250, 16, 1, 5, false}, NULL, 2},
    {"across the tier at 1024", {1018, 16, 1, 6, false}, NULL, 2},
    {"across the tier at 4096", {4090, 16, 1, 7, false}, NULL, 2},
    {"across the tier at 1024, width 3", {1000, 16, 3, 8, true}, NULL, 2},
    {"to the last slot of the cache", {PLAY_CAPACITY - 12, 12, 1, 9, false}, NULL, 1},
};
enum { LAW_REPLAYED, LAW_POISONED, LAW_MOVED = 3, NUM_LAWS = sizeof laws / sizeof *laws };

static void check_laws(const char *word)
{
    for (int i = 0; i < NUM_LAWS; i++)
        if (strstr(laws[i].name, word) != NULL)
            report(holds(&laws[i], NULL), laws[i].name, play_error);
    for (int64_t width = 1; width <= 8; width++) {
        char name[32];
        snprintf(name, sizeof name, "width %lld", (long long)width);
        if (strstr(name, word) == NULL)
            continue;
        const struct law law = {name, {11, 12, width, 10, true}, NULL, 1};
        report(holds(&law, NULL), name, play_error);
    }
}

/* Ids are device memory that each step overwrites: the rows that embedding_grouped gathers follow
 * them in replays, as those of embedding do in all other laws. */
static const struct law gather = {"gather", {13, 48, 1, 16, false}, NULL, 1};

static void check_gather(void)
{
    static const enum assay_trade trades[] = {ASSAY_TRADE_EMBEDDING_Q4, ASSAY_TRADE_EMBEDDING_Q6};
    for (int i = 0; i < 2; i++) {
        play_trades = 1u << trades[i];
        for (int64_t width = 1; width <= 8; width += 3) {
            char name[48];
            snprintf(name, sizeof name, "%s, width %lld", assay_trade_name(trades[i]),
                     (long long)width);
            struct law law = gather;
            law.script.width = width;
            law.script.all_logits = width > 1;
            report(holds(&law, NULL), name, play_error);
        }
        const char *route = replay_mutant_begin(MUTANT_HOST_ID_GROUPED);
        const bool survived = holds(&gather, route);
        report(!survived, "killed: rows of embedding_grouped looked up by the host", play_error);
    }
    play_trades = 0;
}

/* A step that ends exactly at a tier, one before, one behind: the same bits as far away from it. */
static void check_edges(void)
{
    static const int64_t tiers[] = {256, 1024, 4096};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        for (int64_t off = -1; off <= 1; off++) {
            char name[48];
            snprintf(name, sizeof name, "begins at %lld%+lld", (long long)tiers[i], (long long)off);
            const struct law law = {name, {tiers[i] + off, 4, 1, 11, false}, NULL, 1};
            report(holds(&law, NULL), name, play_error);
        }
}

/* ---- laws of several sessions -------------------------------------------------------------- */

/* Graphs and allocations of another session of the same context. */
static bool disturb(struct player *player, int64_t step, void *user)
{
    static const struct script other = {30, 0, 2, 77, true};
    static float logits[2 * 4096];
    struct player *beside = user;
    void *memory;
    if (step == 0 && !play_prefill(beside, &other))
        return false;
    const size_t bytes = (size_t)(1 + step % 5) << 16;
    if (assay_buffer_create(player->context, bytes, &memory) != ASSAY_OK ||
        assay_buffer_fill(player->context, memory, 0xff, bytes) != ASSAY_OK ||
        !play_step(beside, &other, logits))
        return false;
    assay_buffer_destroy(player->context, memory);
    return true;
}

static void check_disturbed(void)
{
    const struct script script = {13, 64, 1, 12, false};
    struct trace expected = {0}, found = {0};
    struct player player = {0}, beside = {0};
    const bool same =
        reference(&script, &expected) && player_open(&player, model, NULL, true, NULL) &&
        player_open(&beside, model, &player, true, NULL) &&
        play(&player, &script, disturb, &beside, &found) && trace_same(&found, &expected);
    report(same, "another session's graphs and allocations between", same ? "" : play_error);
    player_close(&beside);
    player_close(&player);
    trace_free(&expected);
    trace_free(&found);
}

/* Two sessions of one context take turns; each gives what it gives alone. */
struct turns {
    struct player *other;
    const struct script *script;
    struct trace *trace;
    int64_t row;
};

static bool take_turn(struct player *player, int64_t step, void *user)
{
    struct turns *turns = user;
    (void)player;
    if (step == 0 && !play_prefill(turns->other, turns->script))
        return false;
    return play_step(turns->other, turns->script, turns->trace->values + step * turns->row);
}

static void check_alternating(void)
{
    const struct script one = {13, 64, 1, 13, false}, two = {200, 64, 1, 14, false};
    struct trace expected[2] = {0}, found[2] = {0}, alone = {0};
    struct player player = {0}, other = {0};
    struct turns turns = {.other = &other,
                          .script = &two,
                          .trace = &alone,
                          .row = assay_model_config(model)->vocab_size};
    bool same = reference(&one, &expected[0]) && reference(&two, &expected[1]) &&
                player_open(&player, model, NULL, true, NULL) &&
                player_open(&other, model, &player, true, NULL);
    /* The other's script once for itself gives a trace of the right size to write the turns to. */
    same = same && play(&other, &two, NULL, NULL, &alone) && trace_same(&alone, &expected[1]);
    if (same) {
        memset(alone.values, 0, (size_t)(two.steps * turns.row) * sizeof *alone.values);
        same = play(&player, &one, take_turn, &turns, &found[0]) &&
               trace_same(&found[0], &expected[0]) && trace_same(&alone, &expected[1]);
    }
    report(same, "two sessions that alternate", same ? "" : play_error);
    player_close(&other);
    player_close(&player);
    for (int i = 0; i < 2; i++) {
        trace_free(&expected[i]);
        trace_free(&found[i]);
    }
    trace_free(&alone);
}

/* ---- generation ---------------------------------------------------------------------------- */

enum { NUM_GENERATED = 80 };

struct generated {
    int32_t ids[NUM_GENERATED];
    int64_t count;
};

static bool keep(void *user, int32_t id)
{
    struct generated *generated = user;
    generated->ids[generated->count++] = id;
    return true;
}

static bool generate(struct player *player, const struct assay_sampling *sampling,
                     struct generated *generated)
{
    static const int32_t prompt[] = {5, 17, 300, 42, 8};
    struct assay_error error = {.status = ASSAY_OK};
    struct assay_generation generation = {.max_new_tokens = NUM_GENERATED,
                                          .sampling = *sampling,
                                          .callback = keep,
                                          .user = generated};
    generated->count = 0;
    assay_session_reset(player->session);
    const assay_status status =
        assay_session_generate(player->session, prompt, 5, &generation, &error);
    if (status != ASSAY_OK)
        assay_error_format(&error, play_error, sizeof play_error);
    return status == ASSAY_OK && generated->count == NUM_GENERATED;
}

/* Greedy, drawn, drawn with another seed, penalised, drawn with the first seed again. */
static void check_generation(void)
{
    static const struct assay_sampling samplings[] = {
        {.top_p = 1.0},
        {.top_p = 0.95, .temperature = 0.9, .top_k = 50, .seed = 1},
        {.top_p = 0.95, .temperature = 0.9, .top_k = 50, .seed = 2},
        {.top_p = 1.0, .temperature = 1.2, .min_p = 0.02, .presence = 0.5, .frequency = 0.25},
        {.top_p = 0.95, .temperature = 0.9, .top_k = 50, .seed = 1},
    };
    enum { NUM = sizeof samplings / sizeof *samplings };
    struct generated eager[NUM] = {0}, replayed[NUM] = {0};
    struct player plain = {0}, player = {0};
    bool same = player_open(&plain, model, NULL, false, NULL) &&
                player_open(&player, model, NULL, true, NULL);
    snprintf(play_error, sizeof play_error, "other tokens");
    for (int i = 0; i < NUM && same; i++)
        same = generate(&plain, &samplings[i], &eager[i]) &&
               generate(&player, &samplings[i], &replayed[i]) &&
               memcmp(&eager[i], &replayed[i], sizeof eager[i]) == 0;
    report(same, "generation: the same tokens", same ? "" : play_error);
    report(memcmp(eager[1].ids, eager[4].ids, sizeof eager[1].ids) == 0 &&
               memcmp(eager[1].ids, eager[2].ids, sizeof eager[1].ids) != 0,
           "generation: a seed repeats, another differs", "");
    player_close(&player);
    player_close(&plain);
}

/* Not a law: what the graphs are for. The first generation records, the second is timed. */
static void print_speed(void)
{
    enum { NUM_TIMED = 512 };
    static const int32_t prompt[] = {5, 17, 300, 42, 8};
    double seconds[2] = {0.0};
    for (int graphs = 0; graphs < 2; graphs++) {
        struct player player;
        struct assay_error error = {.status = ASSAY_OK};
        struct assay_generation generation = {.max_new_tokens = NUM_TIMED,
                                              .sampling = assay_sampling_defaults()};
        bool good = player_open(&player, model, NULL, graphs == 1, NULL);
        for (int i = 0; i < 2 && good; i++) {
            assay_session_reset(player.session);
            good =
                assay_session_generate(player.session, prompt, 5, &generation, &error) == ASSAY_OK;
        }
        seconds[graphs] = generation.decode_seconds;
        player_close(&player);
    }
    printf("      %d greedy tokens: %.1f us each call by call, %.1f us replayed, ratio %.2f\n",
           NUM_TIMED, 1e6 * seconds[0] / NUM_TIMED, 1e6 * seconds[1] / NUM_TIMED,
           seconds[1] > 0.0 ? seconds[0] / seconds[1] : 0.0);
}

/* ---- faults -------------------------------------------------------------------------------- */

/* An op that fails while a graph is recorded: the recording ends, the session says so, and is good
 * again after a reset. */
static void check_failed_recording(void)
{
    const struct script script = {13, 20, 1, 15, false};
    struct trace expected = {0}, found = {0}, broken = {0};
    struct player player = {0};
    const char *route = replay_mutant_begin(MUTANT_FAILS_RECORDING);
    bool same = reference(&script, &expected) && player_open(&player, model, NULL, true, route) &&
                !play(&player, &script, NULL, NULL, &broken) &&
                assay_session_length(player.session) == script.prefill + 1 &&
                assay_session_broken(player.session);
    same = same && assay_context_force_route(player.context, NULL) == ASSAY_OK &&
           play(&player, &script, NULL, NULL, &found) && trace_same(&found, &expected);
    report(same, "a failure inside a recording", same ? "" : play_error);
    player_close(&player);
    trace_free(&broken);
    trace_free(&expected);
    trace_free(&found);
}

static void check_faults(void)
{
    static const struct {
        enum replay_mutant mutant;
        int law;
        const char *name;
    } faults[] = {
        {MUTANT_HOST_POSITION, LAW_REPLAYED, "killed: position captured as a host value"},
        {MUTANT_UNWRITTEN_WORKSPACE, LAW_POISONED, "killed: workspace read before it is written"},
        {MUTANT_PADDED_ROW, LAW_POISONED, "killed: a padded row leaks"},
        {MUTANT_HOST_ID, LAW_REPLAYED, "killed: rows of embedding looked up by the host"},
        {MUTANT_STALE_POOL, LAW_MOVED, "killed: stale pointer after the pool moved"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *route = replay_mutant_begin(faults[i].mutant);
        const bool survived = holds(&laws[faults[i].law], route);
        report(!survived, faults[i].name, play_error);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "golden/models/tiny-hybrid";
    struct assay_error error = {.status = ASSAY_OK};
    assay_model *opened;
    if (assay_device_count() == 0) {
        puts("no CUDA device");
        return 77;
    }
    if (assay_model_open(path, &opened, &error) != ASSAY_OK ||
        assay_route_add(&growing, &error) != ASSAY_OK) {
        assay_error_format(&error, play_error, sizeof play_error);
        fprintf(stderr, "%s\n", play_error);
        return 1;
    }
    if (!replay_mutants_add(assay_model_config(opened)->num_layers)) {
        fprintf(stderr, "%s\n", play_error);
        return 1;
    }
    model = opened;
    check_laws(argc > 2 ? argv[2] : "");
    if (argc <= 2) {
        check_gather();
        check_edges();
        check_disturbed();
        check_alternating();
        check_generation();
        check_failed_recording();
        check_faults();
        print_speed();
    }
    assay_model_close(opened);
    printf("%d failed\n", num_failed);
    return num_failed == 0 ? 0 : 1;
}
