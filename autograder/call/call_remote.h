/* call_remote.h: a worker process as the grader sees it. Known to call_remote*.c alone. */
#ifndef CALL_REMOTE_H
#define CALL_REMOTE_H

#include <stdio.h>
#include <sys/types.h>

#include "message.h"

/* What a submission may take. CPU seconds are those of the reference machine (GRADLAB_CPU_FACTOR).
 */
enum {
    REMOTE_CALL_S = 2,       /* CPU of one call: the reference needs some hundredths at most */
    REMOTE_OPEN_S = 20,      /* more for the first call, which opens the device */
    REMOTE_CLAIM_S = 20,     /* CPU of all calls of a claim */
    REMOTE_STILL_S = 2,      /* wall time without any CPU time: stuck */
    REMOTE_MACHINE_S = 60,   /* wall time of a call that wants to run and may not: the machine */
    REMOTE_OUTPUT = 4 << 20, /* bytes printed */
    REMOTE_FILE = 16 << 20,  /* bytes of one file */
};
static const size_t remote_data_bytes = (size_t)1 << 30; /* memory, where it can be limited */

typedef struct remote_worker {
    pid_t pid;
    int to, from;      /* requests, replies */
    int lines, output; /* its file 5 (kept in memory), what it prints */
    int keeper;        /* connection to who started it; -1: this process did */
    bool alone;        /* in a process namespace of its own: its children die with it */
    bool walled;       /* within the sandbox of GRADLAB_SANDBOX */
    bool disturbed;    /* once it is stopped: somebody outside of the sandbox has ended it before */
} remote_worker;

/* ---- call_remote_start.c ---- */

/* Starts GRADLAB_WORKER for `device`, the worker of this number: of another one hostcuda's threads
 * come in another order. False with a line in `error`; the judged code has no part in that. */
bool remote_start(remote_worker *w, int number, const char *device, char error[CALL_TEXT]);
/* Kills it with all its children if it has not ended, closes its files; returns its wait status,
 * and its CPU seconds unless cpu_s is NULL. */
int remote_stop(remote_worker *w, double *cpu_s);
/* Whether it ends by itself within that many seconds. */
bool remote_ends_within(const remote_worker *w, double seconds);
/* Sends and receives the worker's files over a socket; the keeper and its customers use it. */
bool remote_send(int socket, const remote_worker *w);
bool remote_receive(int socket, remote_worker *w);

/* ---- call_remote_keeper.c: one worker for a whole run ---- */

bool remote_borrow(remote_worker *w, char error[CALL_TEXT]);
/* Gives it back for the next claim, or to be killed: then its wait status is returned. */
int remote_give_back(remote_worker *w, bool of_use);

/* ---- call_remote_watch.c ---- */

typedef struct remote_watch {
    double began, still_since, looked; /* wall time */
    double cpu_first, cpu_seen;        /* of the worker; cpu_first < 0: not read yet */
    double cpu_limit, claim_limit, still_limit;
} remote_watch;

typedef enum remote_event {
    REMOTE_READY,
    REMOTE_EOF,
    REMOTE_TIMEOUT,
    REMOTE_STUCK,
    REMOTE_FLOOD,
    REMOTE_GARBAGE,
    REMOTE_STARVED
} remote_event;

double remote_now(void);
/* Whether the worker is under sanitizers: where its grader is, or GRADLAB_SANITIZED is set. */
bool remote_sanitized(void);
/* Machine factor from the environment, at least 0.1. */
double remote_factor(void);
remote_watch remote_watch_begin(bool opens_device);
/* Called about every 50 ms while nothing happens: REMOTE_READY means go on waiting. */
remote_event remote_watch_look(remote_watch *watch, const remote_worker *w);

/* ---- call_remote_trace.c ---- */

/* What the worker left on its file 5 from `from` on, put in words and places. */
typedef struct remote_trace {
    bool crashed;
    int signal;
    char text[200]; /* "segmentation fault: …" */
    bool memory;    /* it had used up what it may have */
} remote_trace;
void remote_read_lines(const remote_worker *w, off_t from, remote_trace *trace,
                       call_evidence *evidence);
off_t remote_lines_size(const remote_worker *w);
/* Asks addr2line about these offsets in a module that lies beside the worker, or is it; NULL: it
 * cannot be asked. The answer is to be closed and *child to be waited for. */
typedef char remote_offset[24];
FILE *remote_ask_lines(const char *module, const char *flags, remote_offset offset[], int count,
                       pid_t *child);

/* ---- call_remote_costs.c ---- */

/* The lines behind what single instructions cost. */
int remote_costs(call_cost out[CALL_COSTS], const call_sites *sites);

/* ---- call_remote_end.c: fill w->kind and w->ended ---- */

__attribute__((format(printf, 3, 4))) void remote_conclude(call_wire *w, const char *kind,
                                                           const char *format, ...);
/* Somebody else has ended it. */
void remote_conclude_disturbed(call_wire *w);
/* By its wait status and what its crash left. `unopened`: what was printed, of one that has never
 * answered; NULL: it was started and speaks our language, whatever it says at its end. */
void remote_conclude_end(call_wire *w, int status, const remote_trace *trace, const char *unopened);
/* By a message of hostcuda: "im2col.cu:7: hostcuda [out-of-bounds]: …" is kind out_of_bounds. */
void remote_conclude_checker(call_wire *w, const char *message);

#endif
