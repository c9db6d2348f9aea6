# values.awk -v name=NET FILE.def...: what may stand behind NAME= by its row of options.def
# (programs/options.def), a word a line: 0 and 1 of a flag; of a text the choices that its help
# lists, as "kinds: a, b or c; more", of `step:EPOCHS` what is the same in all. Else nothing.
BEGIN { FS = "[(, ]+" }
$1 == "OPTION" && $2 == name {
    if ($3 == "FLAG") { print 0; print 1; exit }
    if ($3 != "TEXT" || $0 !~ / or /) exit
    sub(/^[^"]*"/, ""); sub(/[";].*/, "")
    sub(/^[^,]*: /, ""); sub(/,? or /, ", ")
    n = split($0, choice, /, /)
    for (i = 1; i <= n; i++) { sub(/:.*/, ":", choice[i]); print choice[i] }
    exit
}
