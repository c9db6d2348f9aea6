"""builds.py: which claim runs in which build, as a table in autograder/README.md, and what evidence
the points of a lab hang on, as one in autograder/SECURITY.md.

They are made from the lists of claims of all labs, stand between `<!-- builds: begin -->` and
`<!-- builds: end -->`, and are never typed (handouts.py writes and checks them).
"""

from pathlib import Path

import skeletons
import table

README, SECURITY = "autograder/README.md", "autograder/SECURITY.md"
BEGIN, END = "<!-- builds: begin -->", "<!-- builds: end -->"


def precisions(claim: table.Claim, side: str, build: str) -> str:
    """`float`, `double` or both, where the claim is judged on this side in this build."""
    return ", ".join(claim.real) if side in claim.points and claim.build == build else ""


def rows(labs: list) -> str:
    lines = ["| claim | cpu | hostcuda, cuda | hostcuda, races |", "|---|---|---|---|"]
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


def evidence(labs: list) -> str:
    """Points of each side, by what they hang on."""
    lines = ["| lab | in C, proved | in C, hard | in CUDA, proved | in CUDA, hard | hard are |",
             "|---|---|---|---|---|---|"]
    for lab in labs:
        plain = [c for c in lab.claims if not c.extra]
        sums = [sum(c.points.get(side, 0) for c in plain if c.evidence == kind)
                for side in table.SUFFIX for kind in table.EVIDENCE]
        names = {}
        for claim in (c for c in plain if c.evidence == "hard"):
            names[claim.name] = names.get(claim.name, 0) + sum(claim.points.values())
        hard = ", ".join(f"{name} ({n})" for name, n in names.items())
        cells = " | ".join(f"**{n}**" if k % 2 else str(n) for k, n in enumerate(sums))
        lines.append(f"| {lab.number} | {cells} | {hard or 'none'} |")
    return "\n".join(lines)


def update(root: Path, write: bool) -> int:
    """Says which table is stale, or fills them in; returns 1 if one was."""
    labs = [table.parse(p.read_text(encoding="utf-8"), p) for p in table.files(root)]
    return max([fill(root, README, rows(labs), write), fill(root, SECURITY, evidence(labs), write)])


def fill(root: Path, name: str, lines: str, write: bool) -> int:
    path = root / name
    old = path.read_text(encoding="utf-8")
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise skeletons.Refused(f"{name}: needs one line {BEGIN} and one {END}")
    before, rest = old.split(BEGIN)
    new = f"{before}{BEGIN}\n{lines}\n{END}{rest.split(END)[1]}"
    if new == old:
        return 0
    if write:
        skeletons.replace(path, new.encode())
    print(f"{name}: its table of claims "
          + ("was filled in" if write else "is stale: run make skeletons"))
    return 1
