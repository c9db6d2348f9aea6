"""What compilers said in several builds is shown once."""

import said

IN_F = "x.c: In function 'f':"
UNDECLARED = """x.c:3:12: error: 'q' undeclared
    3 |     return q;
      |            ^"""
NOTE = "x.c:3:12: note: each undeclared identifier is reported only once"
KNOWN = "x.c:4:9: error: cannot convert 'const tl_real*' {{aka 'const {0}*'}} to 'int'"
INCLUDED = "In file included from x.c:1:\ny.h:2:1: error: expected ';'"


def once(*texts: str) -> str:
    return "\n".join(said.once(list(texts)))


def test_equal_messages_of_two_builds_come_once():
    text = f"{IN_F}\n{UNDECLARED}\n{NOTE}\n"
    assert once(text, text, text) == text.rstrip()


def test_how_a_type_is_known_in_each_build_makes_no_second_message():
    assert once(KNOWN.format("float"), KNOWN.format("double")) == KNOWN.format("float")


def test_a_message_of_one_build_alone_stays_with_what_introduces_it():
    alone = f"{IN_F}\n{UNDECLARED}"
    assert once(INCLUDED, f"{INCLUDED}\n{alone}") == f"{INCLUDED}\n{alone}"


def test_two_messages_on_one_line_both_stay():
    other = UNDECLARED.replace("'q'", "'r'")
    assert once(f"{IN_F}\n{UNDECLARED}\n{other}") == f"{IN_F}\n{UNDECLARED}\n{other}"


def test_what_a_file_has_in_it_cannot_move_the_cursor(tmp_path, capsys):
    path = tmp_path / "x.err"
    path.write_bytes(b"x.c:1:1: error: \x1b[2Jstray \xff\n" * 2)
    assert said.main([str(path), str(tmp_path / "none.err")]) == 0
    assert capsys.readouterr().err == "x.c:1:1: error: \\x1b[2Jstray \\xff\n"
    assert not path.exists()
