/* SPDX-License-Identifier: MIT
 *
 * The subcommands of the assay program, in the order in which help shows them.
 * X(name, summary), where _ in a name is spelled - on the command line: add a line here,
 * tool_<name>.c with `int tool_<name>(int argc, char **argv)`, and the file to CMakeLists.txt.
 */
#ifndef ASSAY_TOOLS_TOOL_LIST_H
#define ASSAY_TOOLS_TOOL_LIST_H

#define TOOL_TABLE(X)                                                       \
    X(run, "generate text with a model")                                    \
    X(gate, "decide whether a lossy option may be used")                    \
    X(perplexity, "measure losses on held-out texts")                       \
    X(bisect, "find the op call at which two settings part")                \
    X(ledger, "show what the gate has recorded")                            \
    X(inspect, "show a model's configuration, tensors and state sizes")     \
    X(convert, "convert a model to an .assay folder")                       \
    X(verify, "verify routes against the oracle")                           \
    X(fuzz, "verify a plugin's routes on random cases")                     \
    X(mutants, "plant faults and count the killed")                         \
    X(bench, "measure routes against their floors")                         \
    X(profile, "show what a decode step and a prefill chunk spend time on") \
    X(devices, "list the CUDA devices")                                     \
    X(new_kernel, "write the template of a plugin")                         \
    X(ops, "list all ops and their routes")

#endif
