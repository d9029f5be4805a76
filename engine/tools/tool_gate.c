/* SPDX-License-Identifier: MIT
 *
 * assay gate: takes the evidence that a lossy option needs, judges it by the policy, records it.
 */
#include "tools/tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/certificate.h>

#include "certificate_sign.h"
#include "core/core.h"
#include "tools/gate_command.h"

enum {
    KEY_TRADE = 256,
    KEY_SET,
    KEY_LEDGER,
    KEY_POLICY,
    KEY_DATA,
    KEY_QUICK,
    KEY_SEED,
    KEY_THREADS,
    KEY_BACKEND,
    KEY_DEVICE,
    KEY_HTML,
    KEY_JSON,
    KEY_JUNIT,
    KEY_PLANT,
    KEY_NEW_KEY,
    KEY_VERIFY,
    KEY_TRUSTED,
    KEY_ALL,
    KEY_FRESH,
    KEY_COMPARE
};

static void on_interrupt(int number)
{
    (void)number;
    gate_interrupted = 1;
}

/* ---- command line --------------------------------------------------------------------------- */

static const struct argp_option option_table[] = {
    {"trade", KEY_TRADE, "NAME", 0, "The lossy option to decide on", 1},
    {"set", KEY_SET, "NAME,NAME", 0, "Several options, decided on together", 1},
    {"all", KEY_ALL, NULL, 0,
     "Every option that the policy names and that applies; what the ledger holds already is not "
     "run again",
     1},
    {"fresh", KEY_FRESH, NULL, 0, "With --all: run it again", 1},
    {"compare", KEY_COMPARE, "RUN", 0,
     "Show what is worse than in this run of the ledger; LAST: the one before", 1},
    {"ledger", KEY_LEDGER, "FILE", 0, "Record the run there", 1},
    {"policy", KEY_POLICY, "FILE", 0,
     "Judge by another policy; assay run accepts records under the built-in one only", 1},
    {"data", KEY_DATA, "DIR", 0, "Golden data: corpora, references", 1},
    {NULL, 0, NULL, 0, "Evidence:", 2},
    {"quick", KEY_QUICK, NULL, 0, "Fewer prompts and texts", 2},
    {"seed", KEY_SEED, "N", 0, "Seed of cases and resampling (1)", 2},
    {"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 2},
    {"backend", KEY_BACKEND, "NAME", 0, "Decide for cpu (default), cuda or simt", 2},
    {"device", KEY_DEVICE, "N", 0, "The device of backend cuda (default 0)", 2},
    {"plant", KEY_PLANT, "MUTANT", 0,
     "Plant a mutant to see the gate fail, such as gdn_recurrent.mutant.state_bf16.cpu; can "
     "unlock nothing",
     2},
    {NULL, 0, NULL, 0, "Reports:", 3},
    {"html", KEY_HTML, "FILE", 0, "Write one self-contained page", 3},
    {"json", KEY_JSON, "FILE", 0, "Write the report as JSON", 3},
    {"junit", KEY_JUNIT, "FILE", 0, "Write the limits as JUnit XML", 3},
    {NULL, 0, NULL, 0, "Certificates (assay ledger certify makes them; no MODEL):", 4},
    {"new-key", KEY_NEW_KEY, "FILE", 0, "Make a secret key FILE and its public key FILE.pub", 4},
    {"verify-certificate", KEY_VERIFY, "FILE", 0, "Check signature, key, verdict and date", 4},
    {"trusted", KEY_TRUSTED, "FILE", 0,
     "Public keys that count ($ASSAY_TRUSTED_KEYS, or trusted-keys in the folder assay of the "
     "configuration)",
     4},
    {0},
};

static const char doc[] =
    "Decides whether a lossy option may be used with a model on this machine by this build: takes "
    "evidence, judges it by the policy, and records the run. Exit code 0: PASS; 1: FAIL; 2: "
    "INCONCLUSIVE."
    "\vExamples:\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --html gate.html\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --quick --ledger ./ledger.sqlite\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --backend cuda --device 1\n"
    "  assay gate models/tiny --all --compare LAST\n"
    "  assay gate models/tiny --set gdn-state-fp16,embedding-q6\n"
    "  assay gate --verify-certificate tiny.json --trusted release.key.pub\n"
    "  assay gate models/tiny --trade gdn-state-fp16 --plant gdn_recurrent.mutant.state_bf16.cpu\n";

static assay_trade_set parse_trade(const struct argp_state *state, const char *text)
{
    char known[256];
    const enum assay_trade trade = assay_trade_find(text);
    assay_trade_set_format((1u << ASSAY_NUM_TRADES) - 1u, known, sizeof known);
    if (trade == ASSAY_NUM_TRADES)
        argp_error(state, "there is no trade \"%s\"; known: %s%s", text, known,
                   strchr(text, ',') != NULL ? "; several together: --set" : "");
    return 1u << (unsigned)trade;
}

static assay_trade_set parse_set(const struct argp_state *state, const char *text)
{
    assay_trade_set set;
    struct assay_error error = {0};
    if (assay_trade_set_parse(text, &set, &error) != ASSAY_OK)
        argp_error(state, "--set: %s: %s", error.what, error.message);
    if (set == 0)
        argp_error(state, "--set must name a trade");
    return set;
}

/* Combinations that contradict themselves. */
static void check(const struct gate_arguments *a, const struct argp_state *state)
{
    const bool keys = a->new_key != NULL || a->certificate != NULL;
    if (a->trusted != NULL && a->certificate == NULL)
        argp_error(state, "--trusted goes with --verify-certificate");
    if (a->new_key != NULL && a->certificate != NULL)
        argp_error(state, "--new-key and --verify-certificate exclude each other");
    if (keys && (a->options.model_dir != NULL || a->options.trades != 0))
        argp_error(state, "--new-key and --verify-certificate take no MODEL and no trade");
    if (!keys && a->options.model_dir == NULL)
        argp_error(state, "MODEL is missing");
    if (!keys && !a->all && a->options.trades == 0)
        argp_error(state, "--trade is missing (or --set, or --all)");
    if (a->all && (a->options.trades != 0 || a->options.plant != NULL))
        argp_error(state, "--all excludes --trade, --set and --plant");
    if (a->all && (a->html != NULL || a->junit != NULL || a->json != NULL))
        argp_error(
            state,
            "reports are of one gate: after --all, `assay ledger table --html' writes one of all");
    if (a->fresh && !a->all)
        argp_error(state, "--fresh goes with --all");
    if (a->all && a->compare != NULL && strcmp(a->compare, "LAST") != 0)
        argp_error(state, "with --all, --compare takes LAST");
    if (a->device && a->options.backend != ASSAY_CUDA)
        argp_error(state, "--device goes with --backend cuda");
}

/* A part of another trade decides nothing by itself. */
static void check_trades(const struct argp_state *state, assay_trade_set trades)
{
    struct assay_precision precision;
    struct assay_error error = {.status = ASSAY_OK};
    if (assay_precision_resolve(trades, &precision, &error) != ASSAY_OK)
        argp_error(state, "--trade %s %s", error.what, error.message);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct gate_arguments *a = state->input;
    switch (key) {
    case KEY_TRADE:
    case KEY_SET:
        if (a->options.trades != 0)
            argp_error(state, "one --trade or --set is enough");
        a->options.trades = key == KEY_SET ? parse_set(state, text) : parse_trade(state, text);
        return 0;
    case KEY_LEDGER:
        a->ledger = text;
        return 0;
    case KEY_POLICY:
        a->policy = text;
        return 0;
    case KEY_DATA:
        a->options.data_dir = text;
        return 0;
    case KEY_QUICK:
        a->options.quick = true;
        return 0;
    case KEY_SEED:
        a->options.seed = (uint64_t)tool_integer(state, "--seed", text, 0, INT64_MAX);
        return 0;
    case KEY_THREADS:
        a->options.threads = (int)tool_integer(state, "--threads", text, 1, 1024);
        return 0;
    case KEY_PLANT:
        a->options.plant = text;
        return 0;
    case KEY_BACKEND:
        a->options.backend = tool_backend(state, text);
        return 0;
    case KEY_DEVICE:
        a->options.device = (int)tool_integer(state, "--device", text, 0, 1023);
        a->device = true;
        return 0;
    case KEY_ALL:
        a->all = true;
        return 0;
    case KEY_FRESH:
        a->fresh = true;
        return 0;
    case KEY_COMPARE:
        a->compare = text;
        return 0;
    case KEY_NEW_KEY:
        a->new_key = text;
        return 0;
    case KEY_VERIFY:
        a->certificate = text;
        return 0;
    case KEY_TRUSTED:
        a->trusted = text;
        return 0;
    case KEY_HTML:
        a->html = text;
        return 0;
    case KEY_JSON:
        a->json = text;
        return 0;
    case KEY_JUNIT:
        a->junit = text;
        return 0;
    case ARGP_KEY_ARG:
        if (a->options.model_dir != NULL)
            argp_error(state, "one MODEL is enough, found \"%s\" as well", text);
        a->options.model_dir = text;
        return 0;
    case ARGP_KEY_SUCCESS:
        check(a, state);
        check_trades(state, a->options.trades);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- certificates --------------------------------------------------------------------------- */

static assay_status new_key(const char *path, struct assay_error *error)
{
    ASSAY_TRY(certificate_new_key(path, error));
    printf("secret key %s: keep it, and keep it to yourself\npublic key %s.pub: append it to the "
           "trusted keys of those who shall believe you\n",
           path, path);
    return ASSAY_OK;
}

static assay_status verify_certificate(const char *path, const char *trusted,
                                       struct assay_error *error)
{
    struct assay_certificate c;
    ASSAY_TRY(assay_certificate_read(path, trusted, &c, error));
    printf("certificate %s\n  verdict  %s, recorded %s, valid until %s\n  trades   %s\n"
           "  model    %s\n  machine  %s, %s\n  build    %s\n  policy   %s\n  signed   %s (%s)\n",
           path, c.verdict, c.recorded, c.expires, c.key.trades, c.key.model, c.key.backend,
           c.key.isa, c.key.build, c.key.policy, c.public_key, c.signer);
    return assay_certificate_valid(&c, path, error);
}

/* *code becomes the exit code of the verdict: PASS, FAIL, INCONCLUSIVE are 0, 1, 2. */
static assay_status run(struct gate_arguments *a, int *code, struct assay_error *error)
{
    struct gate_command command;
    enum gate_verdict verdict = GATE_INCONCLUSIVE;
    struct gate_result *result = calloc(1, sizeof *result);
    if (result == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, "gate", "result", "no memory");
    assay_status status = gate_command_open(a, &command, error);
    if (status == ASSAY_OK && a->all) {
        status = gate_command_all(&command, &verdict, error);
    } else if (status == ASSAY_OK) {
        status = gate_command_one(&command, result, error);
        verdict = result->verdict;
    }
    gate_command_close(&command);
    free(result);
    *code = (int)verdict;
    return status;
}

int tool_gate(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "[MODEL]", .doc = doc};
    struct gate_arguments a = {.options = {.seed = 1}};
    struct assay_error error = {0};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
        return TOOL_USAGE;
    if (a.new_key != NULL || a.certificate != NULL) {
        const assay_status done = a.new_key != NULL
                                      ? new_key(a.new_key, &error)
                                      : verify_certificate(a.certificate, a.trusted, &error);
        const int flushed = tool_flush_stdout();
        return done != ASSAY_OK ? tool_report(&error) : flushed;
    }
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    /* A file that grows beyond a limit is a write error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    int code = TOOL_OK;
    const assay_status status = run(&a, &code, &error);
    if (status != ASSAY_OK)
        code = tool_report(&error);
    const int flushed = tool_flush_stdout();
    return flushed != TOOL_OK ? flushed : code;
}
