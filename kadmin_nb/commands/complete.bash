%(complete_func)s() {
    local type candidate line=${COMP_LINE:0:COMP_POINT} known
    local -a words
    read -ra words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    known=${words[-1]%%"${words[-1]##*[=:]}"}  # bash cuts words at these, and replaces the last piece alone
    COMPREPLY=()
    while IFS=, read -r type candidate; do
        [[ -n $candidate ]] && COMPREPLY+=("$(printf %%q "${candidate#"$known"}")")
    done < <(COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace; fi
}
complete -o nosort -o bashdefault -o default -F %(complete_func)s %(prog_name)s
