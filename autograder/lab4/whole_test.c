/* whole_test.c: a net through all of lab 4, several times on one tape. */
#include "autograder/claim/small_net.h"

CLAIM(lab4_whole, all_tasks_work_together) {
    FOR_TARGETS (t)
        for (int passes = 1; passes <= 3; passes++) {
            small_net n = small_net_draw(c);
            expect_small_net(c, t, &n, passes);
        }
}
