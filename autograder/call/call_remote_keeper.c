/* call_remote_keeper.c: on a GPU one worker serves all claims of a run, because opening a GPU costs
 * more than all of a lab's calls.
 *
 * The program that runs the tests forks a keeper before the first of them. The keeper starts a
 * worker when somebody asks for one, hands its files over, and waits for one byte: keep it, or end
 * it. It reads nothing of what the worker says. Claims that ask meanwhile wait in line. */
#define _GNU_SOURCE
#include "call_remote.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEEP = 'k', END = 'e' };

static char folder[] = "/tmp/gradlab-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static pid_t keeper = -1;

/* One customer. A claim that was killed says nothing: then nobody knows what the worker is doing.
 */
static void serve(int customer, remote_worker *w) {
    char error[CALL_TEXT] = "", answer = END;
    bool there = w->pid > 0 || remote_start(w, 0, "cuda", error);
    if (!there || !remote_send(customer, w)) {
        ssize_t told = write(customer, error, sizeof error);
        (void)told; /* a customer that has left needs no reason */
        return;
    }
    while (read(customer, &answer, 1) < 0 && errno == EINTR) {
    }
    if (answer == KEEP) return;
    remote_ends_within(w, 0.2); /* so that its own end is seen and not ours */
    int status = remote_stop(w, NULL);
    ssize_t told = write(customer, &status, sizeof status);
    (void)told;
}

static void keep(int listener) {
    remote_worker w = {.pid = -1};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (int customer; (customer = accept(listener, NULL, NULL)) >= 0; close(customer))
        serve(customer, &w);
    _exit(1);
}

void call_run_begin(void) {
    const char *devices = getenv("GRADLAB_DEVICES");
    if (!devices || strcmp(devices, "cuda") != 0) return;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && mkdtemp(folder)) {
        snprintf(address.sun_path, sizeof address.sun_path, "%s/keeper", folder);
        if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
            listen(listener, 64) == 0 && (keeper = fork()) == 0)
            keep(listener);
    }
    if (keeper > 0) setenv("GRADLAB_KEEPER", address.sun_path, 1);
    if (listener >= 0) close(listener);
}

void call_run_end(void) {
    if (keeper <= 0) return;
    kill(keeper, SIGKILL); /* and with it the worker */
    waitpid(keeper, NULL, 0);
    unlink(address.sun_path);
    rmdir(folder);
}

bool remote_borrow(remote_worker *w, char error[CALL_TEXT]) {
    const char *path = getenv("GRADLAB_KEEPER");
    int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path ? path : "");
    snprintf(error, CALL_TEXT, "the keeper of the GPU's worker does not answer");
    if (line >= 0 && connect(line, (struct sockaddr *)&address, sizeof address) == 0 &&
        remote_receive(line, w))
        return true;
    if (line >= 0) {
        ssize_t reason = read(line, error, CALL_TEXT - 1);
        if (reason > 0) error[reason] = '\0';
        close(line);
    }
    *w = (remote_worker){.pid = -1, .to = -1, .from = -1, .lines = -1, .output = -1, .keeper = -1};
    return false;
}

int remote_give_back(remote_worker *w, bool of_use) {
    int status = 0, line = w->keeper, file[] = {w->to, w->from, w->lines, w->output};
    char answer = of_use ? KEEP : END;
    if (write(line, &answer, 1) == 1 && !of_use)
        if (read(line, &status, sizeof status) != (ssize_t)sizeof status) status = 0;
    for (int i = 0; i < 4; i++) close(file[i]);
    close(line);
    *w = (remote_worker){.pid = -1, .to = -1, .from = -1, .lines = -1, .output = -1, .keeper = -1};
    return status;
}
