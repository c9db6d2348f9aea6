/* no_namespaces.c: runs a command where no namespaces can be made, as in an ordinary container; for
 * test_box.py.
 *
 *   no_namespaces COMMAND [ARGUMENT]… */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NAMESPACES = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | CLONE_NEWCGROUP
};
#define LOAD(field)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(test, k, t, f) BPF_JUMP(BPF_JMP | test | BPF_K, k, t, f)
#define ANSWER(what)      BPF_STMT(BPF_RET | BPF_K, what)

int main(int count, char **word) {
    struct sock_filter filter[] = {
        LOAD(nr),
        IF(BPF_JEQ, SYS_unshare, 7, 0),
        IF(BPF_JEQ, SYS_setns, 6, 0),
        IF(BPF_JEQ, SYS_mount, 5, 0),
        IF(BPF_JEQ, SYS_clone3, 5, 0),
        IF(BPF_JEQ, SYS_clone, 0, 2),
        LOAD(args[0]),
        IF(BPF_JSET, NAMESPACES, 1, 0),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
        ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("no_namespaces");
        return 1;
    }
    execvp(word[1], &word[1]);
    perror(word[1]);
    return 1;
}
