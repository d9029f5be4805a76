/* SPDX-License-Identifier: MIT
 *
 * Status codes. Every public function that can fail returns one. Values are stable: codes are
 * banded by subject, with gaps for growth.
 *
 * A status says what kind of thing went wrong. The error record of the context (context.h) or of
 * the call (struct assay_error below) says which op, which argument, what was expected, what was
 * found, and what to do.
 */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASSAY_MUST_USE __attribute__((warn_unused_result))
#define ASSAY_PRINTF(format_index, first_index) \
    __attribute__((format(printf, format_index, first_index)))
#else
#define ASSAY_MUST_USE
#define ASSAY_PRINTF(format_index, first_index)
#endif

/* X(name, value, meaning, what to do) */
#define ASSAY_STATUS_TABLE(X)                                                                     \
    X(OK, 0, "success", "nothing")                                                                \
    X(E_ARG, 10, "an argument is null, not finite or outside its range", "correct the argument")  \
    X(E_USAGE, 11, "unknown, missing or exclusive command-line options", "see --help")            \
    X(E_RANGE, 12, "an index in the data is outside the table it refers to",                      \
      "correct the index named in the message")                                                   \
    X(E_SHAPE, 20, "tensor shapes do not fit each other or the op",                               \
      "compare with the op's contract header")                                                    \
    X(E_FORMAT, 21, "the op does not take this tensor format",                                    \
      "convert the tensor or choose another op")                                                  \
    X(E_ALIAS, 22, "an output overlaps an input in a way the contract forbids",                   \
      "use separate memory")                                                                      \
    X(E_LAYOUT, 23, "strides or alignment are outside the contract",                              \
      "make the innermost dimension contiguous")                                                  \
    X(E_UNSUPPORTED, 30, "valid input that this build does not support",                          \
      "use a supported model, format or option")                                                  \
    X(E_NO_ROUTE, 31, "no route of this backend accepts the call",                                \
      "use another backend or smaller shapes")                                                    \
    X(E_ROUTE_REFUSED, 32, "the forced route does not accept the call",                           \
      "drop the forced route or change the shapes")                                               \
    X(E_ROUTE_UNKNOWN, 33, "no route has the forced name", "list names with: assay ops")          \
    X(E_MEMORY, 40, "out of memory", "free memory or use a smaller model or context")             \
    X(E_WORKSPACE, 41, "the workspace arena is too small",                                        \
      "create the context with a larger arena")                                                   \
    X(E_FULL, 42, "a fixed capacity is used up", "start a session with a larger context")         \
    X(E_IO, 50, "a file could not be read or written", "check path, permissions and disk space")  \
    X(E_NOT_FOUND, 51, "a file or an entry in it does not exist", "check the name")               \
    X(E_CORRUPT, 52, "a file is truncated or contradicts itself",                                 \
      "fetch or convert the file again")                                                          \
    X(E_PARSE, 53, "a text is not in the expected syntax", "correct the text at the named place") \
    X(E_GATE, 60, "a precision option has no passing gate record",                                \
      "run the gate command named in the message, or pass --ungated")                             \
    X(E_EXCLUSIVE, 61, "two precision options exclude each other", "choose one of them")          \
    X(E_VERDICT, 62, "a verification verdict is FAIL", "repeat the printed case descriptor")      \
    X(E_CANCELLED, 63, "the run was interrupted", "start it again")                               \
    X(E_CUDA, 70, "the CUDA runtime reported an error", "see the message for call and device")    \
    X(E_INTERNAL, 90, "a bug in Assay", "report it with the message")

enum assay_status_code {
#define ASSAY_STATUS_ENUM(name, value, meaning, remedy) ASSAY_##name = value,
    ASSAY_STATUS_TABLE(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
};

typedef enum assay_status_code assay_status;

/* "ASSAY_E_SHAPE"; "unknown status" for a value outside the table. Never NULL. */
const char *assay_status_name(assay_status status);
/* One line that says what the code means. Never NULL. */
const char *assay_status_text(assay_status status);
/* One line that says what the user can do. Never NULL. */
const char *assay_status_remedy(assay_status status);

/* What went wrong, in words. Filled by the first failure, kept until cleared; all fields are
 * zero-terminated and cut, never overrun. */
struct assay_error {
    assay_status status;
    char where[96];    /* op, file or function:       "rmsnorm", "model.safetensors" */
    char what[96];     /* argument, field or tensor:  "w", "layers.3.q_proj.weight" */
    char message[512]; /* expected, found, and what to do */
};

/* Fills *error when it holds no failure yet and returns status, so that callers can write
 * `return assay_fail(error, ASSAY_E_ARG, "rmsnorm", "eps", "must be > 0, is %g", eps);`.
 * error may be NULL. */
assay_status assay_fail(struct assay_error *error, assay_status status, const char *where,
                        const char *what, const char *format, ...) ASSAY_PRINTF(5, 6);
/* Makes *error hold no failure. */
void assay_error_clear(struct assay_error *error);
/* "ASSAY_E_ARG: rmsnorm: eps: must be > 0, is 0 (correct the argument)" into text[size]. */
void assay_error_format(const struct assay_error *error, char *text, unsigned long size);

#ifdef __cplusplus
}
#endif
#endif
