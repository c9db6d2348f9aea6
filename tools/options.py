"""options.py: NAME=value, as every program of gradlab takes its options.

    given = options.parse(sys.argv[1:], {"LAB": "", "SEEDS": "200"})
    seeds = options.whole(given, "SEEDS", 1)

An empty value counts as not given. Every mistake is an OptionError of one line.
"""


class OptionError(Exception):
    """One line: what was typed, and what is expected instead."""


def parse(words, defaults=None):
    """{NAME: value}: the defaults, and over them what the words say. Without defaults every name in
    capitals is taken, and only what was given is in the result (see take_… and refuse_rest)."""
    given = {}
    for word in words:
        name, equals, value = word.partition("=")
        known = name.isupper() if defaults is None else name in defaults
        if not equals or not known:
            expected = "look like NET=a" if defaults is None else f"are {', '.join(defaults)}"
            raise OptionError(f"'{word}' is not an option; options {expected}, each as NAME=value")
        if name in given:
            raise OptionError(f"{name} is given twice")
        given[name] = value
    return {**(defaults or {}), **{name: value for name, value in given.items() if value}}


def whole(given, name, low=0, high=10**9):
    """The value of NAME as a whole number from low to high."""
    text = given[name]
    if not text.isdecimal() or not low <= int(text) <= high:
        raise OptionError(f"{name}={text}: a whole number from {low} to {high} is needed")
    return int(text)


def take_number(given, name, default, low, high=10**9):
    """Removes the whole number NAME and returns it, or `default` where it was not given."""
    if name not in given:
        return default
    number = whole(given, name, low, high)
    del given[name]
    return number


def take_choice(given, name, default, choices):
    """Removes NAME and returns it, or `default`; it must be one of `choices`."""
    value = given.pop(name, default)
    if value not in choices:
        raise OptionError(f"{name}={value}: one of {', '.join(choices)} is needed")
    return value


def refuse_rest(given):
    """What is left when all known options were taken is a mistake."""
    if given:
        raise OptionError(f"{next(iter(given))} is not an option of this program")
