# What a reader of README and book has besides the system: read by every shell that `cargo xtask test` starts for one.

# What Environment Modules do with OPTIQ's module file, on machines without them: `module use DIR`, `module load NAME`.
module() {
    local directory file word variable value prefix=
    case $1 in
    use)
        [ -d "$2" ] || return 1
        export MODULEPATH=$2${MODULEPATH:+:$MODULEPATH}
        ;;
    load)
        for directory in ${MODULEPATH//:/ }; do
            for file in "$directory/$2"/*; do
                [[ -f $file && $file != *.lua ]] || continue
                while read -r word variable value; do
                    case $word in
                    set) prefix=$value ;;
                    prepend-path)
                        value=${value//\$prefix/$prefix}
                        export "$variable=$value${!variable:+:${!variable}}"
                        ;;
                    esac
                done <"$file"
                [ -n "$prefix" ]
                return
            done
        done
        echo "module: no file for $2 in ${MODULEPATH:-no directory}" >&2
        return 1
        ;;
    *)
        echo "module: $1 is not known here" >&2
        return 1
        ;;
    esac
}

# Whether the page is where `man` would look for it, on machines without it.
man() {
    local directory
    for directory in ${MANPATH//:/ }; do
        [ ! -f "$directory/man1/$1.1" ] || return 0
    done
    echo "man: no page for $1 in ${MANPATH:-no directory}" >&2
    return 1
}
