/* no_git.c: what Criterion calls of libgit2, doing nothing.
 *
 * Where Criterion compares strings with libgit2, every process loads a dozen libraries more and
 * reads all certificates of the machine before its test begins: more than most claims cost. The
 * grader compares no strings, so it is linked with this in the place of libgit2. */
int git_libgit2_init(void);
int git_libgit2_shutdown(void);
int git_diff_buffers(void);

int git_libgit2_init(void) { return 1; }

int git_libgit2_shutdown(void) { return 0; }

/* (a difference that could not be found is not shown) */
int git_diff_buffers(void) { return -1; }
