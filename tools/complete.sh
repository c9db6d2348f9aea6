# complete.sh: what TAB offers behind make, in bash (4 or newer) and in zsh: goals, their options,
# and the values of these. It is switched on by
#
#     source path/of/gradlab/tools/complete.sh        (a line of ~/.bashrc or ~/.zshrc)
#
# for this copy of gradlab alone, at its top and in labs/labN: a completion that followed one into
# any folder would run a stranger's makefile at the press of a key. Elsewhere TAB does what it did.
# Nothing is listed here: mk/complete.mk knows what there is.

_gradlab_root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]:-$0}")/.." && pwd)

# _gradlab_words CURRENT BEFORE...: the words that may stand where CURRENT does, behind those
# BEFORE it, one a line; what nothing can be added to ends in a space. 1: this is another folder.
_gradlab_words() {
    local current=$1 typed='' number='' lab='' asked=goals list='' word line
    shift
    if [[ ../.. -ef $_gradlab_root && ${PWD##*/} == lab[0-9] ]]; then
        lab=${PWD##*/lab}
    elif [[ ! . -ef $_gradlab_root ]]; then
        return 1
    fi
    for word; do
        case ${word%%=*} in
        *[!A-Za-z0-9_.-]* | -*) continue ;; # no goal or option of ours
        esac
        case $word in
        LAB=*[!0-9]*) typed+=" LAB=" ;;
        LAB=*) typed+=" LAB=" number=${word#LAB=} ;;
        *=*) typed+=" ${word%%=*}=" ;;
        *) typed+=" $word" ;;
        esac
    done
    case $current in
    *[!A-Za-z0-9_]*=*) return 0 ;;
    *=*) # of a list the last item
        asked=${current%%=*}
        list=${current%"${current##*[=,]}"}
        ;;
    [A-Z]*) asked=any ;;
    "") [[ -z $typed ]] || asked=options ;;
    esac
    # (make may be somebody's function; awk that finds no file to read would read what is typed)
    while IFS= read -r line; do
        case $list$line in
        *,*" ") ;; # this option takes no list
        *=*/*) [[ $current != */* ]] || printf '%s\n' "$list$line" ;; # claims, behind their task
        *) printf '%s\n' "$list$line" ;;
        esac
    done < <(ASKED=$asked TYPED=$typed TYPED_LAB=$number GRADLAB_LAB=$lab \
        command make -rRs -C "$_gradlab_root" --no-print-directory -f mk/complete.mk \
        </dev/null 2>/dev/null)
}

# ---- bash ----------------------------------------------------------------------------------------

# Readline breaks words at = and : as well, and puts in what stands behind the last of these.
_gradlab_bash() {
    local line=${COMP_LINE:0:COMP_POINT} current='' found taken word
    local -a words
    read -ra words <<<"$line"
    if [[ $line != *[[:space:]] ]]; then
        current=${words[-1]}
        unset 'words[-1]'
    fi
    COMPREPLY=()
    if ! found=$(_gradlab_words "$current" "${words[@]:1}"); then
        compopt +o nospace
        _gradlab_elsewhere "$@"
        return
    fi
    taken=${current%"${current##*["$COMP_WORDBREAKS"]}"}
    while IFS= read -r word; do
        [[ -z $word || $word != "$current"* ]] || COMPREPLY+=("${word#"$taken"}")
    done <<<"$found"
    [[ -n ${COMPREPLY[*]} ]] || compopt +o nospace # files' names, as ever
}

# What completed make before us, or the function that bash-completion keeps for it in a file, which
# takes our place when it is loaded.
_gradlab_elsewhere() {
    if [[ -z $_gradlab_before ]] && declare -F _completion_loader >/dev/null; then
        _completion_loader make
        _gradlab_before=$(complete -p make)
        complete -o nospace -o default -F _gradlab_bash make
    fi
    if [[ $_gradlab_before =~ -F\ ([^ ]+) ]]; then "${BASH_REMATCH[1]}" "$@"; fi
}

# ---- zsh -----------------------------------------------------------------------------------------

# It takes whole words. (What bash could not read stands in quotes.)
_gradlab_zsh() {
    local found line
    local -a whole open
    if ! found=$(eval '_gradlab_words "$PREFIX" "${(@)words[2,CURRENT-1]}"'); then
        _make "$@"
        return
    fi
    while IFS= read -r line; do
        case $line in
        '') ;;
        *' ') whole+=("${line% }") ;;
        *) open+=("$line") ;;
        esac
    done <<<"$found"
    compadd -a whole
    compadd -S '' -a open
    if [[ ${compstate[nmatches]} == 0 && $PREFIX == *=* ]]; then
        compset -P '*='
        _files
    fi
}

if [[ -n ${ZSH_VERSION-} ]]; then
    typeset -f compdef >/dev/null || { autoload -Uz compinit && compinit; }
    compdef _gradlab_zsh make
else
    case $(complete -p make 2>/dev/null) in
    *_gradlab_bash*) ;; # from the last time
    *) _gradlab_before=$(complete -p make 2>/dev/null) ;;
    esac
    complete -o nospace -o default -F _gradlab_bash make
fi
