function %(complete_func)s
    env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \
        %(prog_name)s 2>/dev/null | string replace -r '^[a-z]+,' ''
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
