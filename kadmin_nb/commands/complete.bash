%(complete_func)s() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ -n $candidate ]] && COMPREPLY+=("$candidate")
    done < <(COMP_WORDS="$(IFS=$'\n'; echo "${COMP_WORDS[*]}")" COMP_CWORD=$COMP_CWORD \
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace; fi
}
complete -o nosort -o bashdefault -F %(complete_func)s %(prog_name)s
