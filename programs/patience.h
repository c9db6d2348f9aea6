/* patience.h: how long an idle OpenMP thread spins before it sleeps. */
#ifndef GRADLAB_PATIENCE_H
#define GRADLAB_PATIENCE_H

/* Restarts the program with GOMP_SPINCOUNT set, unless the user chose a waiting policy. Call it
 * first in main.
 *
 * libgomp's threads spin for milliseconds at the end of every parallel loop. On a machine that does
 * anything else at the same time, a spinning thread holds the core that the last working thread is
 * waiting for: training was seen 15 times slower beside three other programs. With a short spin it
 * shares. libgomp reads the variable when it is loaded, before main, hence the restart. */
void wait_patiently(char **argv);

#endif
