/* box_inner.c: the last stage in every tier, and all that a program sees: who it is, what it may
 * use up, which files it may open, which system calls there are. */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <stdio.h>

/* A worker's data, and its processor time call by call, are the grader's to limit. Processor time
 * is limited softly, so that it ends with SIGXCPU: SIGKILL is nobody's in a box (box_end.c). */
static const struct {
    int what;
    rlim_t most[BOX_PROFILES]; /* worker, build */
} limits[] = {
    {RLIMIT_CORE, {0, 0}},
    {RLIMIT_CPU, {600, 20}},
    {RLIMIT_FSIZE, {16 << 20, 1 << 30}},
    {RLIMIT_NOFILE, {64, 256}},
    {RLIMIT_NPROC, {256, 64}}, /* threads count, too: two teams of OpenMP on a large machine */
    {RLIMIT_AS, {RLIM_INFINITY, (rlim_t)2 << 30}},
    {RLIMIT_MEMLOCK, {0, 0}},
    {RLIMIT_MSGQUEUE, {0, 0}},
    {RLIMIT_SIGPENDING, {64, 64}},
};
/* 0 to 2, and of a worker requests, replies and lines (autograder/README.md) */
static const unsigned first_closed[BOX_PROFILES] = {6, 3};

rlim_t box_cpu_s(box_profile profile) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].what == RLIMIT_CPU) return limits[i].most[profile];
    return RLIM_INFINITY;
}

static void set_limits(box_profile profile) {
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit now, wanted = {limits[i].most[profile], limits[i].most[profile]};
        if (getrlimit((__rlimit_resource_t)limits[i].what, &now) != 0)
            box_fail("limit %d cannot be read: %s", limits[i].what, strerror(errno));
        if (wanted.rlim_max > now.rlim_max) wanted.rlim_max = wanted.rlim_cur = now.rlim_max;
        if (limits[i].what == RLIMIT_CPU) wanted.rlim_max = now.rlim_max;
        if (setrlimit((__rlimit_resource_t)limits[i].what, &wanted) != 0)
            box_fail("limit %d cannot be set: %s", limits[i].what, strerror(errno));
    }
}

static void become(uid_t user) {
    if (user == 0) return;
    if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 ||
        setresuid(user, user, user) != 0)
        box_fail("cannot become user %u: %s", (unsigned)user, strerror(errno));
    if (setresuid(0, 0, 0) == 0) box_fail("user %u can become root again", (unsigned)user);
}

void box_enter(const box_inner *inner) {
    if (inner->tree && chroot(inner->tree) != 0)
        box_fail("%s cannot be the root: %s", inner->tree, strerror(errno));
    if (inner->folder && chdir(inner->folder) != 0)
        box_fail("%s: %s", inner->folder, strerror(errno));
    /* (when it starts: until then the program itself may be one of them) */
    if (syscall(SYS_close_range, first_closed[inner->profile], ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        box_fail("files cannot be closed: %s", strerror(errno));
    become(inner->user);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user has cleared it */
    set_limits(inner->profile);
    signal(SIGXCPU, SIG_DFL); /* (who started us may have ignored it, or asked to end) */
    signal(SIGTERM, SIG_DFL);
    if (inner->bare && !box_landlock(inner->job))
        box_fail("Landlock does not obey: %s", strerror(errno));
    if (!box_filter(inner->profile)) box_fail("there is no seccomp here: %s", strerror(errno));
    extern char **environ;
    char scratch[4096 + 8] = "TMPDIR=/tmp";
    if (inner->bare && inner->job->folder)
        snprintf(scratch, sizeof scratch, "TMPDIR=%s", inner->job->folder);
    char *const of_build[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent",
                              scratch, NULL};
    execve(inner->command[0], inner->command, inner->profile == BOX_BUILD ? of_build : environ);
    box_fail("%s cannot be started: %s", inner->command[0], strerror(errno));
}

/* ---- Landlock -------------------------------------------------------------------------------- */

static const char *const system_folders[] = {"/usr",
                                             "/bin",
                                             "/sbin",
                                             "/lib",
                                             "/lib32",
                                             "/lib64",
                                             "/etc/alternatives",
                                             "/etc/ld.so.cache",
                                             "/dev/null"};
enum {
    READ = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    OF_FILES =
        LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
    EVERYTHING = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 /* of its first version */
};

static bool open_up(int rules, const char *path, __u64 access) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno == ENOENT || errno == EACCES;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = file};
    bool good = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (!good && errno == EINVAL) { /* a file has no rights of folders */
        rule.allowed_access = access & OF_FILES;
        good = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    }
    close(file);
    return good;
}

bool box_landlock(const box_job *job) {
    struct landlock_ruleset_attr all = {.handled_access_fs = EVERYTHING};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0) return errno == ENOSYS || errno == EOPNOTSUPP; /* never the only wall */
    bool good = true;
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        good = good && open_up(rules, system_folders[i],
                               READ | (i + 1 == sizeof system_folders / sizeof *system_folders
                                           ? LANDLOCK_ACCESS_FS_WRITE_FILE
                                           : 0));
    for (int i = 0; i < job->sees; i++)
        if (job->see[i][0] == '/') good = good && open_up(rules, job->see[i], READ);
    if (job->folder) good = good && open_up(rules, job->folder, EVERYTHING);
    good = good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return good;
}

/* ---- the self-test --------------------------------------------------------------------------- */

static int hole(bool there, const char *what) {
    if (there) fprintf(stderr, "box: no wall: %s\n", what);
    return there;
}

static bool can_make(const char *path) {
    return open(path, O_WRONLY | O_CREAT, 0600) >= 0 && unlink(path) == 0;
}

int box_try_walls(box_profile profile, const char *secret) {
    int holes = hole(getuid() == 0, "it runs as root");
    holes += hole(open(secret, O_RDONLY) >= 0, "it opens files of the grader's");
    holes += hole(can_make("/usr/box-was-here"), "it writes to /usr");
    holes += hole(socket(AF_INET, SOCK_STREAM, 0) >= 0, "it has a network");
    holes += hole(socket(AF_UNIX, SOCK_STREAM, 0) >= 0, "it has sockets");
    holes += hole(kill(getppid(), 0) == 0, "it sends signals to its parent");
    holes += hole(kill(-1, 0) == 0, "it sends signals to others");
    holes += hole(syscall(SYS_unshare, 0x10000000) == 0, "it makes namespaces");
    holes += hole(syscall(SYS_ptrace, 16, getppid(), 0, 0) == 0, "it traces others");
    holes += hole(setuid(0) == 0, "it becomes root");
    if (profile == BOX_WORKER) holes += hole(can_make("/tmp/box-was-here"), "it writes to /tmp");
    return holes;
}
