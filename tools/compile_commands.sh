#!/bin/bash
# compile_commands.sh COMMAND FILE... [-- COMMAND FILE...]...: compile_commands.json on standard
# output: how each file is compiled, for clangd and other tools that read C as the compiler does.
set -euo pipefail

quote() { # as a JSON string
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

folder=$(quote "$PWD") command='' first=1
echo '['
for word; do
    if [ "$word" = -- ]; then
        command=''
    elif [ -z "$command" ]; then
        command=$word
    else
        [ -n "$first" ] || echo ','
        first=''
        printf '{"directory": %s, "file": %s, "command": %s}' "$folder" "$(quote "$word")" \
            "$(quote "$command -c $word")"
    fi
done
printf '\n]\n'
