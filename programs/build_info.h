/* build_info.h: what a program was built from; every line of results carries it.
 *
 * The Makefile generates the definitions (build/<mode>/build_info.c) and rewrites them only when
 * they change. */
#ifndef GRADLAB_BUILD_INFO_H
#define GRADLAB_BUILD_INFO_H

/* GRADLAB_COMMIT if it was set, else the commit checked out, else "unknown" (a zip, a handout). */
extern const char build_commit[];

/* 1 if the tree differed from that commit anywhere outside results/; 0 also where there is no git.
 */
extern const int build_dirty;

/* 16 hexadecimal digits of SHA-256: 8 over all sources of the programs, equal on any machine with
 * this code; 8 over the compiler's version and flags (with what -march=native stood for) and
 * OpenBLAS's version. Equal sources, equal program. */
extern const char build_sources[];

#endif
