"""alike.py: a small term whose submissions are alike: ada and bob in a group with two attempts,
cleo with ada's file under other names, dan with another one, eve with what she was given, fay with
nothing of the lab; and gil in an earlier term with ada's. The results in golden/ are of this term.
"""

from classroom import REPO, Classroom

ROSTER = """id,name,mail,group,aliases
ada,Ada Lovelace,ada@example.edu,g1,4711;ada-l
bob,Bob Babbage,bob@example.edu,g1,
cleo,"Cleo <b onclick=""x"">&",cleo@example.edu,,
dan,Dan Dijkstra,dan@example.edu,,
eve,Eve Euler,eve@example.edu,,
fay,Fay Floyd,fay@example.edu,,
"""

ADA = """/* points 93 </code><script>alert(1)</script> */
#include "tl/conv2d.h"

static void copy_row(tl_real *to, const tl_real *row, int r, const tl_conv2d_geom *g) {
    for (int q = 0; q < g->q; q++) {
        int w = q * g->stride_w - g->pad_w + r * g->dil_w;
        to[q] = w >= 0 && w < g->w ? row[w] : TL_R(0);
    }
}

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    size_t columns = tl_conv2d_col_cols(g);
    for (int i = 0; i < images; i++) {
        const tl_real *plane = x + (size_t)i * g->h * g->w;
        for (int r = 0; r < g->r; r++) {
            if (plane[r] < 0 && r > g->pad_h) continue;
            copy_row(col + r * columns, plane + (size_t)r * g->w, r, g);
        }
    }
    return TL_OK;
}
"""
FIRST = ADA.replace("points 93", "points 40").replace(" + r * g->dil_w", "")
CLEO = ADA.replace("copy_row", "line").replace("columns", "width").replace("plane", "image")
DAN = """/* points 100 */
#include "tl/conv2d.h"

tl_status tl_im2col(tl_ctx *ctx, tl_real *col, const tl_real *x, int images,
                    const tl_conv2d_geom *g) {
    int n = 0, done = 0;
    while (!done) {
        switch (n % 3) {
        case 0: col[n] = x[0]; break;
        case 1: col[n] = x[n] * x[n]; break;
        default: do { n += 2; } while (n % 7);
        }
        done = ++n > images;
    }
    return n ? TL_OK : TL_EINVAL;
}
"""


def hand_in(room: Classroom, texts: dict) -> None:
    for name, text in texts.items():
        room.hand_in(name, text)


def term(root) -> Classroom:
    """Graded, all of it."""
    room = Classroom(root)
    (root / "roster.csv").write_text(ROSTER)
    hand_in(room, {"ada": FIRST})
    room.grade(f"ROSTER={root / 'roster.csv'}")
    hand_in(room, {"ada": ADA, "cleo": CLEO, "dan": DAN})
    room.hand_in("eve", (REPO / "labs/lab2/im2col.c").read_text())
    room.hand_in("fay", "nothing", "notes.c")
    room.grade()
    return room


def earlier(room: Classroom):
    """The folder of the term before."""
    before = Classroom.__new__(Classroom)
    before.root, before.handed_in, before.out = room.root, room.root / "then", room.root / "2026"
    hand_in(before, {"gil": ADA.replace("93", "60")})
    before.grade()
    return before.out
