/* SPDX-License-Identifier: MIT
 *
 * Runs <op>.laws over the copies.
 */
#include "mutation_laws.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CPU_SECONDS = 60, MOST_WALL_SECONDS = 300 };

static void program_of(const char *op, char path[512])
{
    snprintf(path, 512, "%s/mutation_laws_%s", MUTATION_LAWS_DIR, op);
}

int mutation_laws_start(const char *op, int mutant)
{
    char path[512], number[16];
    program_of(op, path);
    snprintf(number, sizeof number, "%d", mutant);
    fflush(NULL);
    int child = fork();
    if (child != 0)
        return child;
    struct rlimit none = {0, 0}, cpu = {MOST_CPU_SECONDS, MOST_CPU_SECONDS};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(MOST_WALL_SECONDS);
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    setenv("ASSAY_MUTATION", number, 1);
    execl(path, path, "--jobs=1", (char *)NULL);
    _exit(127);
}

bool mutation_laws_hold(const char *op)
{
    char path[512];
    program_of(op, path);
    if (access(path, X_OK) != 0)
        return false;
    int status, child = mutation_laws_start(op, -1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

void mutation_laws_finish(int status, const char *op, struct mutation_result *result)
{
    if (status == 0)
        return;
    result->killed = true;
    snprintf(result->check, sizeof result->check, "laws");
    snprintf(result->by, sizeof result->by, "%s.laws", op);
    snprintf(result->message, sizeof result->message, "status %d", status);
}
