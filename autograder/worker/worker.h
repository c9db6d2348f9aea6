/* worker.h: the process that holds the judged code. Known to autograder/worker alone. */
#ifndef WORKER_H
#define WORKER_H

/* Answers requests until the grader closes its pipe; returns the exit code. worker_serve.c */
int worker_serve(void);

/* From now on a crash leaves its addresses on file 5 before the process ends. worker_crash.c */
void worker_watch_crashes(void);

#endif
