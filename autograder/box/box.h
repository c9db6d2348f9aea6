/* box.h: the walls around everything that runs a student's code or reads a student's bytes with a
 * tool: workers, compilers, linkers, addr2line.
 *
 * Three tiers, whichever works first on this machine, or the one that GRADLAB_TIER names:
 *
 *   A  bubblewrap as root             namespaces; a user of its own for each box
 *   B  bubblewrap by user namespace   for who is not root
 *   C  root in an ordinary container  no namespaces: a user of its own for each box, another root
 *                                     folder for workers, Landlock where the kernel has it
 *
 * All of them end in the same inner stage (box_inner.c): limits, no new privileges, a filter of
 * system calls (box_filter.c), and the program. Two profiles say how much it may do: a worker
 * computes and answers over pipes; a build also writes files, in a /tmp of its own. */
#ifndef BOX_H
#define BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef enum box_tier { BOX_A, BOX_B, BOX_C, BOX_TIERS } box_tier;
typedef enum box_profile { BOX_WORKER, BOX_BUILD, BOX_PROFILES } box_profile;

#define BOX_HELD "all walls held" /* said by the program of the self-test */

/* exit status (call/message.h, mk/workers.mk): there was no box, nothing ran in it; somebody
 * outside has ended what ran. No program's own: one that ends with either has ended with 127. */
enum { BOX_SEES = 400, BOX_FAILED = 125, BOX_ENDED };

typedef struct box_job {
    box_tier tier;
    box_profile profile;
    /* Files and folders that are seen, read-only; those below `folder` by relative paths. */
    const char *see[BOX_SEES];
    int sees;
    const char *make;   /* a folder below `folder` that a build may write to; nothing of it stays */
    const char *tree;   /* tier C: the root folder of a worker, which holds it and its libraries */
    const char *folder; /* where the program starts (in tier C: in a copy); NULL: /tmp or / */
    const char *spent;  /* the list of what a submission's builds have cost (box_watch.c) */
    const char *of;     /* this one's name there */
    char *const *command;
} box_job;

extern const char *const box_tier_names[BOX_TIERS];

/* Writes one line "box: …" to stderr and ends with BOX_FAILED. */
_Noreturn void box_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on it writes a byte there, too. */
void box_failures_to(int file);

/* Tiers A and B: bubblewrap around the inner stage; returns as box_by_user does, user as below. */
int box_by_bubblewrap(const box_job *job, uid_t user);

/* Tier C: runs the inner stage in a child and returns the status that `box` shall end with; nothing
 * of its user is alive then. */
int box_by_user(const box_job *job, uid_t user);

/* Runs a build by `run`, and watches it: what it says goes to stderr, cut. */
int box_watch(const box_job *job, int (*run)(const box_job *));

/* A user that no other box has as long as this process lives, which keeps a file open; as root. */
uid_t box_take_user(void);

/* What stands between a box and its program: the user (0: stays who it is), limits, descriptors,
 * the filter; then the program. `bare`: nothing hides the machine's files, so Landlock has to. */
typedef struct box_inner {
    box_profile profile;
    uid_t user;
    bool bare;
    const box_job *job; /* of a bare one: what it may see */
    const char *tree;   /* its root folder, and where it starts there; NULL: where we are */
    const char *folder;
    char *const *command;
} box_inner;
_Noreturn void box_enter(const box_inner *inner);

/* Seconds of processor time that each process in a box has. */
rlim_t box_cpu_s(box_profile profile);

/* How a program came to its end (box_end.c); nothing in its box can forge it. */
typedef struct box_end {
    int status;   /* of wait(2) */
    bool failed;  /* it was never started: box_fail has said why */
    bool outside; /* somebody outside has ended it, or what it had started */
} box_end;

/* Starts a program in a child, within these walls, and waits for its end. */
box_end box_start(const box_inner *inner);
/* From now on SIGTERM to this process ends its program. Not for who is in a box: all hear it. */
void box_end_when_asked(void);
/* What `box` ends with then. */
int box_status(const box_end *end);

/* Installs the filter for this process and all that it starts; false with errno. */
bool box_filter(box_profile profile);

/* Only what the job sees, the system's programs and libraries, and /tmp for a build may be opened
 * from now on. True if the kernel has Landlock and obeys, or has none. */
bool box_landlock(const box_job *job);

/* The program of a self-test: tries what no box may allow; 0, or the number of walls with holes,
 * each named on stderr. argv: a file that must not be readable. */
int box_try_walls(box_profile profile, const char *secret);

#endif
