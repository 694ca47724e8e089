%(complete_func)s() {
    local -a candidates unfinished
    local type candidate help
    while read -r type && read -r candidate && read -r help; do
        if [[ $candidate == *= ]]; then unfinished+=("$candidate"); else candidates+=("$candidate"); fi
    done < <(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)
    (( $#unfinished )) && compadd -U -S '' -V unsorted -a unfinished
    (( $#candidates )) && compadd -U -V unsorted -a candidates
}
compdef %(complete_func)s %(prog_name)s
