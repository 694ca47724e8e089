%(complete_func)s() {
    local -a candidates unfinished
    candidates=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \
        %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    unfinished=(${(M)candidates:#*=})
    candidates=(${candidates:#*=})
    (( $#unfinished )) && compadd -U -S '' -V unsorted -a unfinished
    (( $#candidates )) && compadd -U -V unsorted -a candidates
}
compdef %(complete_func)s %(prog_name)s
