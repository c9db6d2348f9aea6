/* program_test.c: the program `train` as a person meets it: bad input gets one clear line. */
#include "temp_folder.h"
#include "autograder/claim/claim.h"

#include <limits.h>
#include <string.h>
#include <sys/wait.h>

#include "tl/data.h"
#include "tl/device.h"

TestSuite(program, .init = temp_make, .fini = temp_remove);

enum { OUTPUT = 8192 };

/* Runs `train ARGUMENTS` of this build with data under `root`; returns its exit code (-1: a signal)
 * and what it printed, both streams. */
static int run_train(char output[OUTPUT], const char *root, const char *arguments) {
    char path[PATH_MAX], command[PATH_MAX + 2048];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    cr_assert_gt(length, 0);
    path[length] = '\0';
    strcpy(strrchr(path, '/'), "/train"); /* beside this binary */
    cr_assert_eq(access(path, X_OK), 0, "%s is not built", path);
    snprintf(command, sizeof command, "GRADLAB_DATA='%s' '%s' %s 2>&1 </dev/null", root, path,
             arguments);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    size_t used = fread(output, 1, OUTPUT - 1, pipe);
    output[used] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The run must fail with exit code 1, and its last line must be the only complaint and hold
 * `words`. */
static void expect_refused(const char *root, const char *arguments, const char *words) {
    char output[OUTPUT];
    int code = run_train(output, root, arguments);
    cr_assert_eq(code, 1, "train %s: exit code %d, not 1:\n%s", arguments, code, output);
    char *complaint = strstr(output, "train: ");
    cr_assert_not_null(complaint, "train %s: no line of its own:\n%s", arguments, output);
    char *end = strchr(complaint, '\n');
    cr_assert(end && end[1] == '\0', "train %s: not one last line:\n%s", arguments, output);
    cr_assert_not_null(strstr(complaint, words), "train %s: no '%s' in: %s", arguments, words,
                       complaint);
}

Test(program, refuses_options_it_does_not_know) {
    expect_refused("/nowhere", "EPOCH=3", "unknown option EPOCH");
    expect_refused("/nowhere", "fast", "not of the form NAME=value");
    expect_refused("/nowhere", "LR=", "LR= has no value");
    expect_refused("/nowhere", "NET=z", "NET=z: unknown net; use one of a, ");
    expect_refused("/nowhere", "OPT=rmsprop", "OPT=rmsprop: use sgd");
    expect_refused("/nowhere", "AUG=rotate", "use none, flip or crop+flip");
    expect_refused("/nowhere", "OPT=adam MOMENTUM=0.9", "go with OPT=sgd");
    expect_refused("/nowhere", "PLAN_ONLY=1", "needs PLAN=");
}

Test(program, refuses_numbers_out_of_range) {
    expect_refused("/nowhere", "BATCH=0", "BATCH=0: use a whole number from 1");
    expect_refused("/nowhere", "BATCH=-1", "BATCH=-1");
    expect_refused("/nowhere", "BATCH=99999999999999999999", "use a whole number");
    expect_refused("/nowhere", "EPOCHS=2.5", "EPOCHS=2.5: use a whole number");
    expect_refused("/nowhere", "SEED=-1", "SEED=-1");
    expect_refused("/nowhere", "LR=abc", "LR=abc: use a number");
    expect_refused("/nowhere", "LR=nan", "LR=nan");
    expect_refused("/nowhere", "LR=-0.1", "LR=-0.1");
    expect_refused("/nowhere", "LR=0", "must be above 0");
    expect_refused("/nowhere", "THREADS=5000", "THREADS=5000");
}

/* Where there is a GPU the same words train on it, which the suites of that device judge. */
Test(program, says_what_a_missing_gpu_needs) {
    tl_ctx *ctx;
    if (tl_device_open(&ctx, "cuda", "all", 0) == TL_OK) {
        tl_device_close(ctx);
        fprintf(stderr, "program: there is a GPU here, so nothing is missing\n");
    } else {
        cr_assert_not_null(strstr(tl_error(), "cuda"), "%s", tl_error());
        expect_refused("/nowhere", "DEVICE=cuda", "cuda");
    }
}

Test(program, says_where_missing_data_belong) {
    expect_refused(temp_root, "DATASET=cifar10", "cifar10");
    expect_refused(temp_root, "NET=m", "mnist");
    expect_refused(temp_root, "DATASET=imagenet", "imagenet");
}

Test(program, refuses_what_it_can_not_run_on_or_write_to, .timeout = CLAIM_LIMIT_S) {
    char arguments[PATH_MAX];
    const char *root = temp_root;
    cr_assert_eq(tl_shapes10_write(root, TL_SHAPES10_SEED), TL_OK, "%s", tl_error());
    expect_refused(root, "DEVICE=tpu", "use auto, cpu, cuda or hostcuda");
    expect_refused(root, "RUNGS=conv2d:99 DEVICE=cpu", "use all, none, or some of: adam:1");
    expect_refused(root, "NET=m DATASET=shapes10", "net m takes images of 1x28x28");
    expect_refused(root, "LIMIT=70000", "a limit of 70000 images is more than");
    expect_refused(root, "SCHED=step", "SCHED=step: use constant");
    expect_refused(root, "MOMENTUM=1", "momentum 1");
    expect_refused(root, "LIMIT=64 DEVICE=cpu OUT=/proc/none/x", "/proc/none");

    FILE *file = fopen(temp_path("file"), "w");
    cr_assert_not_null(file);
    fputs("not a checkpoint", file);
    fclose(file);
    snprintf(arguments, sizeof arguments, "LIMIT=64 DEVICE=cpu OUT='%s'", temp_path("file"));
    expect_refused(root, arguments, "cannot make folder");
    snprintf(arguments, sizeof arguments, "LIMIT=64 DEVICE=cpu RESUME='%s'", temp_path("file"));
    expect_refused(root, arguments, "/file");
    snprintf(arguments, sizeof arguments, "LIMIT=64 DEVICE=cpu RESUME='%s'", temp_path("none"));
    expect_refused(root, arguments, "/none");
}
