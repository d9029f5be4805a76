/* SPDX-License-Identifier: MIT
 *
 * Children that run a plugin, and the parent that watches them.
 */
#include "tools/plugin_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/progress.h"

enum { MESSAGE_MAGIC = 0x41535359, MESSAGE_DONE = -1, TICK_MS = 50, OUTPUT_READS = 64 };

struct message_head {
    uint32_t magic;
    int32_t kind;
    uint64_t bytes;
};

struct worker {
    struct plugin_child child;
    pid_t pid; /* 0: none */
    int messages, output;
    bool done; /* it said so */
    unsigned char buffer[sizeof(struct message_head) + PLUGIN_CHILD_MAX_MESSAGE];
    size_t used;
    char printed[PLUGIN_CHILD_OUTPUT + 1]; /* the last of it */
    size_t num_printed;
};

static long long microseconds(void)
{
    return (long long)(progress_now() * 1e6);
}

/* ---- in the child --------------------------------------------------------------------------- */

static void write_all(int file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t wrote = write(file, at, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            _exit(1); /* the parent is gone */
        at += wrote;
        bytes -= (size_t)wrote;
    }
}

void plugin_child_send(struct plugin_child *child, int kind, const void *payload, size_t bytes)
{
    struct message_head head = {MESSAGE_MAGIC, kind, bytes};
    write_all(child->pipe, &head, sizeof head);
    write_all(child->pipe, payload, bytes);
}

bool plugin_child_limit(struct plugin_child *child, int jobs)
{
    if (child->jobs <= jobs)
        return true;
    child->step = jobs;
    atomic_store(&child->shared->step, jobs);
    return child->worker < jobs;
}

void plugin_child_begin(struct plugin_child *child, int64_t item, const struct assay_case *c)
{
    struct plugin_shared *s = child->shared;
    if (c != NULL)
        s->c = *c;
    else
        s->c.spec = NULL;
    s->function[0] = '\0';
    atomic_store(&s->shrinking, false);
    atomic_store(&s->item_since, microseconds());
    atomic_store(&s->item, item);
}

static void enter(void *user, const char *function)
{
    struct plugin_shared *s = ((struct plugin_child *)user)->shared;
    snprintf(s->function, sizeof s->function, "%s", function);
    atomic_store(&s->entered, microseconds());
}

static void leave(void *user)
{
    atomic_store(&((struct plugin_child *)user)->shared->entered, 0);
}

struct assay_plugin_options plugin_child_options(struct plugin_child *child, bool careful)
{
    return (struct assay_plugin_options){
        .enter = enter, .leave = leave, .user = child, .careful = careful};
}

static _Noreturn void run_child(const struct plugin_work *work, struct worker *w, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* what it starts ends with it */
    signal(SIGINT, SIG_DFL);
    /* Where memory runs out, the child goes first. */
    int score = open("/proc/self/oom_score_adj", O_WRONLY);
    if (score >= 0) {
        ssize_t ignored = write(score, "1000", 4);
        (void)ignored;
        close(score);
    }
    if (!work->keep_output) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
    }
    close(output);
    work->run(work->user, &w->child);
    fflush(stdout);
    plugin_child_send(&w->child, MESSAGE_DONE, "", 0);
    _exit(0); /* without handlers: some may be the plugin's */
}

/* ---- in the parent -------------------------------------------------------------------------- */

static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) == 0)
        return true;
    fprintf(stderr, "assay: no pipe for the plugin's process: %s\n", strerror(errno));
    return false;
}

static bool start(const struct plugin_work *work, struct worker *w, int64_t first)
{
    int messages[2], output[2];
    if (!make_pipe(messages))
        return false;
    if (!make_pipe(output)) {
        close(messages[0]);
        close(messages[1]);
        return false;
    }
    struct plugin_shared *s = w->child.shared;
    atomic_store(&s->item, -1);
    atomic_store(&s->entered, 0);
    atomic_store(&s->item_since, microseconds());
    atomic_store(&s->shrinking, false);
    s->c.spec = NULL;
    s->function[0] = '\0';
    atomic_store(&s->step, w->child.step);
    w->child.first = first;
    w->child.pipe = messages[1];
    w->done = false;
    w->used = w->num_printed = 0;
    fflush(stdout);
    fflush(stderr);
    w->pid = fork();
    if (w->pid == 0) {
        close(messages[0]);
        close(output[0]);
        run_child(work, w, output[1]);
    }
    close(messages[1]);
    close(output[1]);
    if (w->pid < 0) {
        fprintf(stderr, "assay: no process for the plugin: %s\n", strerror(errno));
        w->pid = 0;
        close(messages[0]);
        close(output[0]);
        return false;
    }
    w->messages = messages[0];
    w->output = output[0];
    fcntl(w->messages, F_SETFL, O_NONBLOCK);
    fcntl(w->output, F_SETFL, O_NONBLOCK);
    return true;
}

/* Keeps the last bytes. A child that prints without end is read for a bounded time. */
static void read_output(struct worker *w)
{
    char chunk[4096];
    ssize_t got;
    for (int i = 0; i < OUTPUT_READS && (got = read(w->output, chunk, sizeof chunk)) > 0; i++) {
        const char *from = chunk;
        size_t count = (size_t)got;
        if (count > PLUGIN_CHILD_OUTPUT) {
            from += count - PLUGIN_CHILD_OUTPUT;
            count = PLUGIN_CHILD_OUTPUT;
        }
        if (w->num_printed + count > PLUGIN_CHILD_OUTPUT) {
            size_t keep = PLUGIN_CHILD_OUTPUT - count;
            memmove(w->printed, w->printed + w->num_printed - keep, keep);
            w->num_printed = keep;
        }
        memcpy(w->printed + w->num_printed, from, count);
        w->num_printed += count;
    }
    w->printed[w->num_printed] = '\0';
}

/* False when the children are to stop. *broken: what came is no message. */
static bool take_messages(const struct plugin_work *work, struct worker *w, bool *broken)
{
    size_t at = 0;
    bool going = true;
    while (going && w->used - at >= sizeof(struct message_head)) {
        struct message_head head;
        memcpy(&head, w->buffer + at, sizeof head);
        *broken = head.magic != MESSAGE_MAGIC || head.bytes > PLUGIN_CHILD_MAX_MESSAGE;
        if (*broken || w->used - at < sizeof head + head.bytes)
            break;
        if (head.kind == MESSAGE_DONE)
            w->done = true;
        else
            going = work->receive(work->user, head.kind, w->buffer + at + sizeof head,
                                  (size_t)head.bytes);
        at += sizeof head + (size_t)head.bytes;
    }
    memmove(w->buffer, w->buffer + at, w->used - at);
    w->used -= at;
    return going;
}

static bool read_messages(const struct plugin_work *work, struct worker *w, bool *broken)
{
    *broken = false;
    ssize_t got;
    while (!*broken &&
           (got = read(w->messages, w->buffer + w->used, sizeof w->buffer - w->used)) > 0) {
        w->used += (size_t)got;
        if (!take_messages(work, w, broken))
            return false;
    }
    return true;
}

static bool param_is_sound(const struct case_param *p, int64_t value)
{
    if (p->kind == CASE_FORMAT)
        return value >= 0 && value < ASSAY_NUM_DTYPES;
    return p->kind != CASE_CHOICE || (value >= 0 && value <= p->hi);
}

bool plugin_case_is_sound(const struct assay_case *c)
{
    int num_specs;
    const struct case_spec *const *specs = case_specs(&num_specs);
    bool sound = false;
    for (int i = 0; i < num_specs && !sound; i++)
        sound = c->spec == specs[i];
    sound = sound && (unsigned)c->layout < CASE_NUM_LAYOUTS && (unsigned)c->dist < CASE_NUM_DISTS &&
            memchr(c->route, '\0', sizeof c->route) != NULL;
    for (int i = 0; sound && i < c->spec->num_params; i++)
        sound = param_is_sound(&c->spec->params[i], c->value[i]);
    return sound;
}

static void reap(struct worker *w, int *status)
{
    kill(-w->pid, SIGKILL); /* it, and what it has started */
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, status, 0) < 0 && errno == EINTR)
        continue;
    close(w->messages);
    close(w->output);
    w->pid = 0;
}

static void describe_place(struct plugin_shared *s, char *text, size_t size)
{
    s->function[sizeof s->function - 1] = '\0';
    if (atomic_load(&s->entered) != 0)
        snprintf(text, size, " in %s%s", s->function, strchr(s->function, ' ') == NULL ? "()" : "");
    else if (s->function[0] != '\0')
        snprintf(text, size,
                 " after its %s() had returned: memory that it damaged, or a thread that it left",
                 s->function);
    else
        text[0] = '\0';
}

static void describe_exit(struct plugin_shared *s, int status, char *how, size_t size)
{
    char place[128];
    describe_place(s, place, sizeof place);
    if (WIFSIGNALED(status))
        snprintf(how, size, "ended by signal %d (%s)%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), place);
    else
        snprintf(how, size, "ended its process with exit code %d%s", WEXITSTATUS(status), place);
}

/* Whether the child has used up its time; how: in words. */
static bool is_late(const struct worker *w, char *how, size_t size)
{
    struct plugin_shared *s = w->child.shared;
    long long now = microseconds(), entered = atomic_load(&s->entered);
    double limit = w->child.time_limit, in_item = 6 * limit + 60; /* the oracle's part included */
    if (entered != 0 && (double)(now - entered) > 1e6 * limit) {
        char place[128];
        describe_place(s, place, sizeof place);
        snprintf(how, size, "stopped after %g s%s: it did not return", limit, place);
        return true;
    }
    if ((double)(now - atomic_load(&s->item_since)) > 1e6 * in_item) {
        snprintf(how, size, "stopped after %g s in one case", in_item);
        return true;
    }
    return false;
}

/* Looks at one child. False when all are to stop. */
static bool attend(const struct plugin_work *work, struct worker *w, bool *failed)
{
    bool broken;
    int status;
    read_output(w);
    if (!read_messages(work, w, &broken)) {
        reap(w, &status);
        return false;
    }
    char how[256];
    enum plugin_end end = PLUGIN_CRASHED;
    siginfo_t info = {.si_pid = 0};
    bool is_over =
        waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (broken) {
        end = PLUGIN_BROKE_PIPE;
        snprintf(how, sizeof how, "it wrote into the program's own pipe");
        reap(w, &status);
    } else if (is_over) {
        read_output(w);
        bool going = read_messages(work, w, &broken); /* what it sent last */
        reap(w, &status);
        if (!going)
            return false;
        if (w->done && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return true;
        describe_exit(w->child.shared, status, how, sizeof how);
    } else if (is_late(w, how, sizeof how)) {
        end = PLUGIN_HUNG;
        reap(w, &status);
    } else {
        return true;
    }
    struct plugin_shared *shared = w->child.shared;
    int64_t item = atomic_load(&shared->item), step = atomic_load(&shared->step);
    if (!plugin_case_is_sound(&shared->c)) /* while it was opened there is none */
        item = -1;
    atomic_store(&shared->item, item);
    if (!work->ended(work->user, w->child.shared, end, how, w->printed) || item < 0 || step < 1 ||
        end == PLUGIN_BROKE_PIPE)
        return false;
    *failed = !start(work, w, item + step);
    return !*failed;
}

static void wait_for_news(struct worker *workers, int jobs)
{
    struct pollfd polled[2 * PLUGIN_CHILD_MAX_JOBS];
    nfds_t count = 0;
    for (int i = 0; i < jobs; i++) {
        if (workers[i].pid == 0)
            continue;
        polled[count++] = (struct pollfd){.fd = workers[i].messages, .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = workers[i].output, .events = POLLIN};
    }
    poll(polled, count, TICK_MS);
    bool ended = false;
    for (nfds_t i = 0; i < count; i++)
        ended = ended || (polled[i].revents & POLLHUP) != 0;
    if (ended) /* a closed pipe is no news until its process has ended */
        poll(NULL, 0, 1);
}

static bool supervise(const struct plugin_work *work, struct worker *workers, int jobs)
{
    bool failed = false, going = true;
    for (int i = 0; i < jobs && going; i++) {
        going = start(work, &workers[i], i);
        failed = !going;
    }
    int running = jobs;
    while (running > 0 && going) {
        wait_for_news(workers, jobs);
        running = 0;
        for (int i = 0; i < jobs && going; i++) {
            if (workers[i].pid != 0)
                going = attend(work, &workers[i], &failed);
            running += workers[i].pid != 0;
        }
    }
    for (int i = 0; i < jobs; i++) {
        int status;
        if (workers[i].pid != 0)
            reap(&workers[i], &status);
    }
    return !failed;
}

bool plugin_supervise(const struct plugin_work *work)
{
    int jobs = work->jobs < PLUGIN_CHILD_MAX_JOBS ? work->jobs : PLUGIN_CHILD_MAX_JOBS;
    size_t bytes = (size_t)jobs * sizeof(struct plugin_shared);
    struct worker *workers = calloc((size_t)jobs, sizeof *workers);
    struct plugin_shared *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good = workers != NULL && shared != MAP_FAILED;
    if (good) {
        for (int i = 0; i < jobs; i++)
            workers[i].child = (struct plugin_child){
                .worker = i, .step = jobs, .shared = &shared[i], .time_limit = work->time_limit};
        good = supervise(work, workers, jobs);
    } else {
        fprintf(stderr, "assay: no memory to watch the plugin\n");
    }
    if (shared != MAP_FAILED)
        munmap(shared, bytes);
    free(workers);
    return good;
}
