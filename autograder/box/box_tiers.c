/* box_tiers.c: the three ways into a box (box.h). */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const box_tier_names[BOX_TIERS] = {
    [BOX_A] = "A bubblewrap as root",
    [BOX_B] = "B bubblewrap by user namespace",
    [BOX_C] = "C root in a container",
};

/* ---- a user of its own ----------------------------------------------------------------------- */

/* Nobody's: above what distributions give to people and services, below 65534. */
enum { FIRST_USER = 61200, USERS = 1000 };
#define SLOTS "/run/gradlab-box"

uid_t box_take_user(void) {
    struct stat info;
    if (mkdir(SLOTS, 0700) != 0 && errno != EEXIST)
        box_fail(SLOTS " cannot be made: %s", strerror(errno));
    if (lstat(SLOTS, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != 0 ||
        (info.st_mode & 077))
        box_fail(SLOTS " is not a folder of root's alone: remove it");
    /* Of another system on this machine (a container, a change of root) the folder is another one,
     * but its processes may be in our sight, and tier C ends all of a user's: so it begins
     * elsewhere. */
    uint64_t folder = (uint64_t)info.st_dev << 32 ^ (uint64_t)info.st_ino;
    int first = (int)((folder * UINT64_C(0x9E3779B97F4A7C15) >> 32) % USERS);
    for (int i = 0; i < USERS; i++) {
        char path[64];
        int user = FIRST_USER + (first + i) % USERS;
        snprintf(path, sizeof path, SLOTS "/%d", user);
        int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0) box_fail("%s cannot be opened: %s", path, strerror(errno));
        if (flock(file, LOCK_EX | LOCK_NB) == 0) return (uid_t)user;
        close(file);
    }
    box_fail("%d boxes stand already", USERS);
}

/* ---- bubblewrap ------------------------------------------------------------------------------ */

static const char *const system_paths[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"};
enum { SYSTEM = sizeof system_paths / sizeof *system_paths, WORDS = 3 * (BOX_SEES + SYSTEM) + 200 };

#define BUILD_BYTES "536870912" /* of a folder that a build writes to */

typedef struct words {
    const char *word[WORDS];
    int count;
} words;

static void say(words *w, const char *const *more) {
    for (; *more; more++) {
        if (w->count + 1 >= WORDS) box_fail("too many words for bubblewrap");
        w->word[w->count++] = *more;
    }
}
#define SAY(w, ...) say(w, (const char *const[]){__VA_ARGS__, NULL})

/* /bin is a link to usr/bin on most systems, and a folder on others. */
static void say_system(words *w) {
    static char target[SYSTEM][256];
    SAY(w, "--dir", "/etc");
    for (int i = 0; i < SYSTEM; i++) {
        ssize_t length = readlink(system_paths[i], target[i], sizeof target[i] - 1);
        if (length > 0)
            SAY(w, "--symlink", target[i], system_paths[i]);
        else if (access(system_paths[i], F_OK) == 0)
            SAY(w, "--ro-bind", system_paths[i], system_paths[i]);
    }
}

static const char *own_path(void) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) box_fail("/proc is not mounted");
    return path;
}

/* A path below job->folder as an absolute one. */
static const char *at_its_place(const box_job *job, const char *path) {
    char *whole;
    if (*path == '/') return path;
    if (!job->folder || asprintf(&whole, "%s/%s", job->folder, path) < 0)
        box_fail("see=%s: below which folder? in= says it", path);
    return whole;
}

/* (bubblewrap makes it for a mount, but so that root alone may pass) */
static const char *folder_of(const char *path) {
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash) box_fail("see=%s: not a path", path);
    *(slash == folder ? slash + 1 : slash) = '\0';
    return folder;
}

/* False for what is not there: the command itself says that best. The box's user is somebody else
 * (a clone made under umask 077 is root's alone). */
static bool is_seen(const char *path, bool others) {
    struct stat info;
    if (stat(path, &info) != 0) return false;
    mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if (others && (info.st_mode & needed) != needed)
        box_fail("%s cannot be read by others: chmod -R go+rX the clone", path);
    return true;
}

/* `tell`: the file to which the inner stage writes its end. */
static _Noreturn void be_bubblewrap(const box_job *job, uid_t user, int tell) {
    static char number[16], file[16];
    static words w;
    snprintf(number, sizeof number, "%u", (unsigned)user);
    snprintf(file, sizeof file, "%d", tell);
    SAY(&w, "bwrap", "--unshare-ipc", "--unshare-pid", "--as-pid-1", "--unshare-net",
        "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop",
        "ALL");
    if (user)
        SAY(&w, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID");
    else
        SAY(&w, "--unshare-user", "--uid", "65534", "--gid", "65534");
    say_system(&w);
    SAY(&w, "--proc", "/proc", "--dev", "/dev");
    if (job->profile == BOX_BUILD)
        SAY(&w, "--perms", "1777", "--size", BUILD_BYTES, "--tmpfs", "/tmp");
    else
        SAY(&w, "--dir", "/tmp");
    if (job->make) { /* (it may hold something that is seen) */
        const char *path = at_its_place(job, job->make);
        SAY(&w, "--dir", folder_of(path), "--perms", "0777", "--size", BUILD_BYTES, "--tmpfs",
            path);
    }
    for (int i = 0; i < job->sees; i++) {
        const char *path = at_its_place(job, job->see[i]);
        if (is_seen(path, user != 0)) SAY(&w, "--dir", folder_of(path), "--ro-bind", path, path);
    }
    SAY(&w, "--ro-bind", own_path(), "/box", "--remount-ro", "/", "--chdir",
        job->folder ? job->folder : "/tmp", "--", "/box", "inner",
        job->profile == BOX_WORKER ? "worker" : "build", number, file);
    for (char *const *c = job->command; *c; c++) SAY(&w, *c);
    execvp("bwrap", (char *const *)(uintptr_t)w.word);
    box_fail(errno == ENOENT ? "bubblewrap is not installed (apt-get install bubblewrap)"
                             : "bubblewrap cannot be started: %s",
             strerror(errno));
}

int box_by_bubblewrap(const box_job *job, uid_t user) {
    box_end end;
    int told[2], status;
    /* (not among the files that a worker has) */
    if (pipe2(told, O_CLOEXEC) != 0) box_fail("no pipe: %s", strerror(errno));
    int tell = fcntl(told[1], F_DUPFD, 10);
    close(told[1]);
    if (tell < 0) box_fail("no pipe: %s", strerror(errno));
    pid_t parent = getpid(), child = fork();
    if (child < 0) box_fail("no process: %s", strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(BOX_FAILED);
        be_bubblewrap(job, user, tell);
    }
    close(tell);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (read(told[0], &end, sizeof end) == sizeof end) return box_status(&end);
    /* Who should have told it, or bubblewrap, was ended, and nobody inside can name either. */
    if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128) return BOX_ENDED;
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : BOX_FAILED;
}

/* ---- root in a container --------------------------------------------------------------------- */

/* Runs a program of the system's as this user, 0: root; true if it ended well. */
static bool run_tool(uid_t user, const char *folder, const char *const *command) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (folder && chdir(folder) != 0) _exit(1);
        if (user && (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 ||
                     setresuid(user, user, user) != 0))
            _exit(1);
        if (!command) _exit(kill(-1, SIGKILL) == 0 ? 0 : 1);
        execvp(command[0], (char *const *)(uintptr_t)command);
        _exit(1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}
#define RUN(user, folder, ...) run_tool(user, folder, (const char *const[]){__VA_ARGS__, NULL})

/* Ends all of a user's processes; nobody else is of this user. */
static void end_all(uid_t user) { run_tool(user, NULL, NULL); }

/* A build's own folder, /tmp and working folder in one, is named by its user: nobody else has it.
 * What it may see below `in` is copied there, for the tree that it lies in is root's alone. */
static const char *make_scratch(const box_job *job, uid_t user) {
    static char path[64];
    const char *word[BOX_SEES + 8] = {"cp", "-r", "--parents", "--"};
    int words = 4;
    snprintf(path, sizeof path, "/tmp/gradlab-box-%u", (unsigned)user);
    RUN(0, "/", "rm", "-rf", "--", path); /* (root's: its owner may have closed folders of it) */
    if (mkdir(path, 0700) != 0) box_fail("%s cannot be made: %s", path, strerror(errno));
    for (int i = 0; i < job->sees; i++)
        if (job->see[i][0] != '/' && is_seen(at_its_place(job, job->see[i]), false))
            word[words++] = job->see[i];
    word[words] = path;
    if (words > 4 && !run_tool(0, job->folder, word)) box_fail("cannot fill %s", path);
    if (job->make && !RUN(0, path, "mkdir", "-p", "--", job->make))
        box_fail("cannot fill %s", path);
    char owner[32];
    snprintf(owner, sizeof owner, "%u:%u", (unsigned)user, (unsigned)user);
    if (!RUN(0, "/", "chown", "-R", owner, path)) box_fail("cannot give %s away", path);
    return path;
}

int box_by_user(const box_job *job, uid_t user) {
    box_job own = *job;
    end_all(user); /* left by a box that was killed itself */
    const char *scratch = job->profile == BOX_BUILD ? make_scratch(job, user) : NULL;
    own.folder = scratch;
    box_end_when_asked();
    box_end end = box_start(&(box_inner){.profile = job->profile,
                                         .user = user,
                                         .bare = !job->tree,
                                         .job = &own,
                                         .tree = job->tree,
                                         .folder = scratch ? scratch : "/",
                                         .command = job->command});
    end_all(user);
    while (waitpid(-1, NULL, __WALL) > 0) { /* their time is counted (box_watch.c) */
    }
    if (scratch) RUN(0, "/", "rm", "-rf", "--", scratch);
    return box_status(&end);
}
