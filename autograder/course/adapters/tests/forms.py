"""The forms of other systems, field by field, as their documentation says them (where that stands:
golden/README.md). `wrong(form, value)` lists what does not fit.

A form is a dict of fields ("x?" may be left out; the field "..." allows others), [form] for a list
of any length, a set of allowed values, a compiled pattern, a function, or a type.
"""

import re

UTC = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")
URL = re.compile(r"https://\S+")


def number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value) -> bool:
    return number(value) and isinstance(value, int) and value >= 0


def some(value) -> bool:
    return isinstance(value, str) and value != ""


def share(value) -> bool:
    return number(value) and 0 <= value <= 1


VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}
OUTPUT_FORMAT = {"text", "html", "simple_format", "md", "ansi"}
GRADESCOPE = {
    "score?": number, "execution_time?": number, "output?": str, "output_format?": OUTPUT_FORMAT,
    "test_output_format?": OUTPUT_FORMAT, "test_name_format?": OUTPUT_FORMAT,
    "visibility?": VISIBILITY, "stdout_visibility?": VISIBILITY, "extra_data?": dict,
    "tests": [{
        "score?": number, "max_score?": number, "status?": {"passed", "failed"}, "name?": str,
        "name_format?": OUTPUT_FORMAT, "number?": str, "output?": str,
        "output_format?": OUTPUT_FORMAT, "tags?": [str], "visibility?": VISIBILITY,
        "extra_data?": dict}],
    "leaderboard?": [{"name": str, "value": lambda v: number(v) or isinstance(v, str),
                      "order?": {"asc", "desc"}}],
}
METADATA = {
    "id": whole, "created_at": str, "submission_method": {"upload", "GitHub", "Bitbucket"},
    "assignment": {
        "due_date": str, "group_size": lambda v: v is None or whole(v), "group_submission": bool,
        "id": whole, "course_id": whole, "late_due_date": lambda v: v is None or some(v),
        "release_date": str, "title": str, "total_points": re.compile(r"[\d.]+")},
    "users": [{"email": str, "id": whole, "name": str}],
    "previous_submissions": [{"submission_time": str, "score": number, "results": dict}],
}
CLASSROOM50 = {
    "schema": {"classroom50/result/v1"}, "classroom": some, "assignment": some,
    "assignment_type": {"individual", "group"}, "owner": some,
    "submission": re.compile(r"submit/.+"), "commit": URL, "release": URL, "review": URL,
    "datetime": UTC, "graded_at?": UTC, "score": whole, "max-score": whole,
    "tests": [{"test-name": some, "passed": bool, "score": whole, "max-score": whole, "...": None}],
    "submitted_by?": {"username": some, "id?": lambda v: v is None or whole(v)},
}
IMAGES = [{"url": str, "label?": str}]
PRAIRIELEARN = {
    "gradable?": {True}, "score": share, "message?": str, "output?": str, "images?": IMAGES,
    "tests?": [{"name": str, "description?": str, "points": number, "max_points": number,
                "message?": str, "output?": str, "images?": IMAGES}],
}
NOT_GRADABLE = {"gradable": {False}, "format_errors": [some]}
AUTOLAB = {"scores": {"...": None}, "scoreboard?": [number]}


def wrong(form, value, at: str = "") -> list:
    if isinstance(form, dict):
        return wrong_fields(form, value, at) if isinstance(value, dict) else [f"{at}: no object"]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{at}: no list"]
        return [w for i, item in enumerate(value) for w in wrong(form[0], item, f"{at}[{i}]")]
    if isinstance(form, set):
        fits = value in form
    elif isinstance(form, re.Pattern):
        fits = isinstance(value, str) and bool(form.fullmatch(value))
    elif isinstance(form, type):
        fits = isinstance(value, form)
    else:
        fits = form(value)
    return [] if fits else [f"{at}: {value!r}"]


def wrong_fields(form: dict, value: dict, at: str) -> list:
    known = {name.rstrip("?"): name for name in form}
    found = [f"{at}.{n}: missing" for n, name in known.items()
             if not name.endswith("?") and n not in value and n != "..."]
    if "..." not in form:
        found += [f"{at}.{n}: unknown" for n in value if n not in known]
    return found + [w for n, v in value.items() if n in known
                    for w in wrong(form[known[n]], v, f"{at}.{n}")]


def beyond(result: dict) -> list:
    """What Classroom 50 holds to beside its schema: no score is larger than its maximum."""
    return [name for name, part in [("result", result), *((t["test-name"], t)
                                                          for t in result["tests"])]
            if part["score"] > part["max-score"]]
