# SPDX-License-Identifier: ISC
#
# Completion of oncedrop's command line for bash(1), with or without the package bash-completion.

# Names of all settings, with "="; -d reads no file.
_oncedrop_settings() {
    "$1" config -d 2>/dev/null | sed 's/ *=.*/=/'
}

# The options of a command.
_oncedrop_options() {
    case $1 in
        deliver) echo '-f -d -a -q -s -u -S' ;;
        replay) echo '-d -f -j --mbox --dry-run --verify --force --json' ;;
        resume) echo '-j --json' ;;
        restore) echo '--account --since -j --include-deleted --dry-run --json' ;;
        ledger) echo '--running' ;;
        setup) echo '--domain --transport --accounts --sent-copies --conninfo --postmaster --root --dry-run --undo' ;;
        check) echo '--send --quick --json' ;;
        locks | route | version) echo '--json' ;;
        config) echo '-n -d --test --json' ;;
        show) echo '--digest --verify --utc --json' ;;
        list) echo '--state --since --until --recipient --sender --mailbox --subject --message-id --queue-id --min-delay --missing --limit --utc --json' ;;
        feed) echo '--follow -j --tries --raw --part --subject --since --dry-run --json' ;;
        stats) echo '--prometheus --json' ;;
        purge) echo '--older-than --dry-run --json' ;;
        expire) echo '--dry-run --json' ;;
        export) echo '--raw' ;;
        forget) echo '--dry-run --yes' ;;
    esac
}

# Whether an option of a command ("": before the command) takes a value.
_oncedrop_takes_value() {
    case "$1 $2" in
        ' -c' | ' -o') ;;
        'deliver '-[fdaqsuS] | 'replay '-[dfj] | 'replay --mbox' | 'resume -j' | 'restore --account' | 'restore --since' | 'restore -j') ;;
        'setup --domain' | 'setup --transport' | 'setup --accounts' | 'setup --conninfo' | 'setup --postmaster' | 'setup --root') ;;
        'list --state' | 'list --since' | 'list --recipient' | 'list --sender') ;;
        'list --until' | 'list --mailbox' | 'list --subject' | 'list --message-id') ;;
        'list --queue-id' | 'list --min-delay' | 'list --limit' | 'purge --older-than' | 'export --raw') ;;
        'feed -j' | 'feed --tries' | 'feed --part' | 'feed --subject' | 'feed --since') ;;
        *) return 1 ;;
    esac
}

_oncedrop() {
    local commands='deliver lmtp serve replay resume restore setup schema ledger check route config show list feed locks stats purge expire export forget version help'
    local command='' previous='' current words word i
    local -a line=()
    COMPREPLY=()
    # In COMP_WORDS "=" is a separate word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && [[ $word == = || ${COMP_WORDS[i - 1]} == = ]]; then
            line[-1]+=$word
        else
            line+=("$word")
        fi
    done
    current=${line[-1]}
    for ((i = 1; i < ${#line[@]} - 1; i++)); do
        if _oncedrop_takes_value "$command" "${line[i]}"; then
            ((i + 1 == ${#line[@]} - 1)) && previous=${line[i]}
            ((i++))
        elif [[ -z $command && ${line[i]} != -* ]]; then
            command=${line[i]}
        fi
    done
    [[ $current == *=* ]] && return 0   # a setting's value
    case "$command $previous" in
        ' -c') compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return 0 ;;
        ' -o') compopt -o nospace 2>/dev/null; words=$(_oncedrop_settings "${COMP_WORDS[0]}") ;;
        'setup --transport') words='lmtp pipe mailbox_command' ;;
        'setup --accounts') words='system virtual' ;;
        'replay --mbox') COMPREPLY=($(compgen -W 'mboxrd mboxo mboxcl2' -- "$current")); return 0 ;;
        'export --raw') compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$current")); return 0 ;;
        'list --state') words='pending appending stored failed expired unfinished' ;;
        *' '?*) return 0 ;;
        ' ') words="-c -o -v $commands" ;;
        'replay '*) words=$(_oncedrop_options replay) ;;
        'schema '*) words='install upgrade method print version' ;;
        'ledger '*) words='install upgrade method print version backup check copy --running' ;;
        'feed '*) words="list run show wait fill reset retry drop $(_oncedrop_options feed)" ;;
        'help '*) words=$commands ;;
        *) words=$(_oncedrop_options "$command") ;;
    esac
    if [[ $command == replay && $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        COMPREPLY=($(compgen -f -- "$current"))
        return 0
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -F _oncedrop oncedrop
