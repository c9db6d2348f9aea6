/* why.h: the line with which a program fails. */
#ifndef GRADLAB_WHY_H
#define GRADLAB_WHY_H

/* Prints "<program>: <tl_error()>" to stderr, without an end of line. If that is a function in
 * labs/ that is not written yet, the file with its folder and the next command are added, and, if a
 * handout has the reference's object of that lab, that it can stand in. */
void say_why(const char *program);

#endif
