"""builds.py: which claim runs in which build, as a table in autograder/README.md.

It is made from the lists of claims of all labs, stands between `<!-- builds: begin -->` and
`<!-- builds: end -->`, and is never typed (handouts.py writes and checks it).
"""

from pathlib import Path

import skeletons
import table

README = "autograder/README.md"
BEGIN, END = "<!-- builds: begin -->", "<!-- builds: end -->"


def precisions(claim: table.Claim, side: str, build: str) -> str:
    """`float`, `double` or both, where the claim is judged on this side in this build."""
    return ", ".join(claim.real) if side in claim.points and claim.build == build else ""


def rows(labs: list) -> str:
    lines = ["| claim | cpu | hostcuda, cuda | hostcuda, checked |", "|---|---|---|---|"]
    places = (("c", ""), ("cuda", ""), ("cuda", "check"))
    for lab in labs:
        runs = dict.fromkeys(places, 0)
        for claim in lab.claims:
            for side, build in places:
                if side in claim.points and claim.build == build:
                    runs[side, build] += len(claim.real)
            cells = " | ".join(precisions(claim, *place) for place in places)
            lines.append(f"| {claim.full_name} | {cells} |")
        sums = " | ".join(f"**{n}**" for n in runs.values())
        lines.append(f"| **lab {lab.number}: runs** | {sums} |")
    return "\n".join(lines)


def update(root: Path, write: bool) -> int:
    """Says that the table is stale, or fills it in; returns 1 if it was."""
    path = root / README
    old = path.read_text(encoding="utf-8")
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise skeletons.Refused(f"{README}: needs one line {BEGIN} and one {END}")
    labs = [table.parse(p.read_text(encoding="utf-8"), p) for p in table.files(root)]
    before, rest = old.split(BEGIN)
    new = f"{before}{BEGIN}\n{rows(labs)}\n{END}{rest.split(END)[1]}"
    if new == old:
        return 0
    if write:
        skeletons.replace(path, new.encode())
    print(f"{README}: the table of builds "
          + ("was filled in" if write else "is stale: run make skeletons"))
    return 1
