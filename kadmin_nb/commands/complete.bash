%(complete_func)s() {
    local type candidate
    COMPREPLY=()
    while IFS=, read -r type candidate; do
        COMPREPLY+=("$candidate")
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace; fi
}
complete -o nosort -o bashdefault -o default -F %(complete_func)s %(prog_name)s
