# SPDX-License-Identifier: ISC
#
# Completion of oncedrop's command line for fish(1).

# The command on the line; nothing while there is none.
function __oncedrop_command
    set -l value no # whether the word is the value of the option before it
    for word in (commandline -opc)[2..]
        if test $value = yes
            set value no
        else if contains -- $word -c -o
            set value yes
        else if not string match -q -- '-*' $word
            echo $word
            return
        end
    end
end

function __oncedrop_in
    test "$(__oncedrop_command)" = "$argv[1]"
end

# Names of all settings, with "="; -d reads no file. Values are not known.
function __oncedrop_settings
    set -l program (commandline -opc)[1]
    if not string match -q -- '*=*' (commandline -ct)
        $program config -d 2>/dev/null | string replace -r ' *=.*' '='
    end
end

complete -c oncedrop -f
complete -c oncedrop -n '__oncedrop_in ""' -s c -rF -d 'configuration file'
complete -c oncedrop -n '__oncedrop_in ""' -s o -xa '(__oncedrop_settings)' -d 'override one setting'
complete -c oncedrop -n '__oncedrop_in ""' -s v -d 'log more'
complete -c oncedrop -n '__oncedrop_in ""' -a deliver -d 'deliver one message to one recipient'
complete -c oncedrop -n '__oncedrop_in ""' -a lmtp -d 'serve LMTP on standard input and output'
complete -c oncedrop -n '__oncedrop_in ""' -a serve -d 'serve LMTP on a socket, as a resident service'
complete -c oncedrop -n '__oncedrop_in ""' -a replay -d 'deliver messages from files'
complete -c oncedrop -n '__oncedrop_in ""' -a resume -d 'finish deliveries that were recorded but not completed'
complete -c oncedrop -n '__oncedrop_in ""' -a restore -d 'restore mail that the IMAP server has lost'
complete -c oncedrop -n '__oncedrop_in ""' -a setup -d 'set up Postfix, Dovecot and the ledger on this host'
complete -c oncedrop -n '__oncedrop_in ""' -a schema -d 'create or upgrade the tables of the ledger'
complete -c oncedrop -n '__oncedrop_in ""' -a ledger -d 'create, upgrade, back up, check or copy the ledger'
complete -c oncedrop -n '__oncedrop_in ""' -a check -d 'check that everything is in place'
complete -c oncedrop -n '__oncedrop_in ""' -a route -d 'print the account and the mailboxes that an address leads to'
complete -c oncedrop -n '__oncedrop_in ""' -a config -d 'print the settings in force'
complete -c oncedrop -n '__oncedrop_in ""' -a show -d 'print what became of a message, and why'
complete -c oncedrop -n '__oncedrop_in ""' -a list -d 'list copies of messages, newest first'
complete -c oncedrop -n '__oncedrop_in ""' -a feed -d 'hand stored messages to an application, each exactly once'
complete -c oncedrop -n '__oncedrop_in ""' -a locks -d 'list deliveries in progress, and who holds and awaits their locks'
complete -c oncedrop -n '__oncedrop_in ""' -a stats -d 'print totals, outcomes and delivery times'
complete -c oncedrop -n '__oncedrop_in ""' -a purge -d 'remove old messages from the record'
complete -c oncedrop -n '__oncedrop_in ""' -a expire -d 'mark messages that left Postfix\'s queue undelivered'
complete -c oncedrop -n '__oncedrop_in ""' -a export -d 'print everything that is recorded about an address'
complete -c oncedrop -n '__oncedrop_in ""' -a forget -d 'remove the messages of an address from the record'
complete -c oncedrop -n '__oncedrop_in ""' -a version -d 'print the version'
complete -c oncedrop -n '__oncedrop_in ""' -a help -d 'explain a command'

complete -c oncedrop -n '__oncedrop_in deliver' -s f -x -d 'envelope sender'
complete -c oncedrop -n '__oncedrop_in deliver' -s d -x -d 'envelope recipient'
complete -c oncedrop -n '__oncedrop_in deliver' -s a -x -d 'original recipient'
complete -c oncedrop -n '__oncedrop_in deliver' -s q -x -d 'queue id'
complete -c oncedrop -n '__oncedrop_in deliver' -s s -x -d 'size announced by Postfix'
complete -c oncedrop -n '__oncedrop_in deliver' -s u -x -d 'login of the sender'
complete -c oncedrop -n '__oncedrop_in deliver' -s S -rF -d 'socket of the service'
complete -c oncedrop -n '__oncedrop_in replay' -s d -x -d 'recipient'
complete -c oncedrop -n '__oncedrop_in replay' -s f -x -d 'envelope sender'
complete -c oncedrop -n '__oncedrop_in replay' -s j -x -d 'messages at a time'
complete -c oncedrop -n '__oncedrop_in replay' -l mbox -xa 'mboxrd mboxo mboxcl2' -d 'dialect of mboxes'
complete -c oncedrop -n '__oncedrop_in replay' -l dry-run -d 'only print what would be done'
complete -c oncedrop -n '__oncedrop_in replay' -l verify -d 'search the mailboxes'
complete -c oncedrop -n '__oncedrop_in replay' -l force -d 'deliver again what is already delivered'
complete -c oncedrop -n '__oncedrop_in resume' -s j -x -d 'messages at a time'
complete -c oncedrop -n '__oncedrop_in restore' -l account -x -d 'only of this account'
complete -c oncedrop -n '__oncedrop_in restore' -l since -x -d 'stored since'
complete -c oncedrop -n '__oncedrop_in restore' -s j -x -d 'messages at a time'
complete -c oncedrop -n '__oncedrop_in restore' -l include-deleted -d 'also what may have been deleted'
complete -c oncedrop -n '__oncedrop_in restore' -l dry-run -d 'only search, and print'
complete -c oncedrop -n '__oncedrop_in setup' -l domain -x -d 'whose mail it is'
complete -c oncedrop -n '__oncedrop_in setup' -l transport -xa 'lmtp pipe mailbox_command' -d 'how Postfix delivers'
complete -c oncedrop -n '__oncedrop_in setup' -l accounts -xa 'system virtual' -d 'who has mail'
complete -c oncedrop -n '__oncedrop_in setup' -l sent-copies -d 'file all sent mail'
complete -c oncedrop -n '__oncedrop_in setup' -l conninfo -x -d 'where the ledger is'
complete -c oncedrop -n '__oncedrop_in setup' -l postmaster -x -d 'reads mail for root'
complete -c oncedrop -n '__oncedrop_in setup' -l root -rF -d 'work on the files below'
complete -c oncedrop -n '__oncedrop_in setup' -l dry-run -d 'only print it'
complete -c oncedrop -n '__oncedrop_in setup' -l undo -d 'restore what it changed'
complete -c oncedrop -n '__oncedrop_in ledger' -l running -d 'copy although deliveries go on'
complete -c oncedrop -n '__oncedrop_in check' -l quick -d 'for a health check'
complete -c oncedrop -n '__oncedrop_in check' -l send -d 'send a message, too'
complete -c oncedrop -n '__oncedrop_in config' -s n -d 'those that differ from the defaults'
complete -c oncedrop -n '__oncedrop_in config' -s d -d 'the defaults'
complete -c oncedrop -n '__oncedrop_in config' -l test -d 'only whether they are right'
complete -c oncedrop -n '__oncedrop_in show' -l digest -d 'the id is a digest'
complete -c oncedrop -n '__oncedrop_in show' -l verify -d 'search the mailboxes'
complete -c oncedrop -n '__oncedrop_in show' -l utc -d 'times in UTC'
complete -c oncedrop -n '__oncedrop_in list' -l state -xa 'pending appending stored failed expired unfinished' -d 'of this state'
complete -c oncedrop -n '__oncedrop_in list' -l since -x -d 'first attempted since'
complete -c oncedrop -n '__oncedrop_in list' -l until -x -d 'first attempted before'
complete -c oncedrop -n '__oncedrop_in list' -l recipient -x -d 'of this recipient or account'
complete -c oncedrop -n '__oncedrop_in list' -l sender -x -d 'of this envelope sender or From address'
complete -c oncedrop -n '__oncedrop_in list' -l mailbox -x -d 'in this mailbox'
complete -c oncedrop -n '__oncedrop_in list' -l subject -x -d 'with this in the subject'
complete -c oncedrop -n '__oncedrop_in list' -l message-id -x -d 'with this in the Message-ID'
complete -c oncedrop -n '__oncedrop_in list' -l queue-id -x -d 'delivered under it'
complete -c oncedrop -n '__oncedrop_in list' -l min-delay -x -d 'took this long or longer'
complete -c oncedrop -n '__oncedrop_in list' -l missing -d 'not in the mailbox any more'
complete -c oncedrop -n '__oncedrop_in list' -l limit -x -d 'at most this many'
complete -c oncedrop -n '__oncedrop_in list' -l utc -d 'times in UTC'
complete -c oncedrop -n '__oncedrop_in feed' -l follow -d 'wait for further messages'
complete -c oncedrop -n '__oncedrop_in feed' -s j -x -d 'commands at a time'
complete -c oncedrop -n '__oncedrop_in feed' -l tries -x -d 'until a row is dead'
complete -c oncedrop -n '__oncedrop_in feed' -l raw -d 'the message itself'
complete -c oncedrop -n '__oncedrop_in feed' -l subject -x -d 'text in the subject'
complete -c oncedrop -n '__oncedrop_in feed' -l part -x -d 'one part of it'
complete -c oncedrop -n '__oncedrop_in feed' -l since -x -d 'stored since'
complete -c oncedrop -n '__oncedrop_in feed' -l dry-run -d 'only count'
complete -c oncedrop -n '__oncedrop_in stats' -l prometheus -d 'for node_exporter'
complete -c oncedrop -n '__oncedrop_in purge' -l older-than -x -d 'age, such as 90d'
complete -c oncedrop -n '__oncedrop_in purge' -l dry-run -d 'only count'
complete -c oncedrop -n '__oncedrop_in expire' -l dry-run -d 'only list them'
complete -c oncedrop -n '__oncedrop_in export' -l raw -rF -d 'also write the recorded bytes'
complete -c oncedrop -n '__oncedrop_in forget' -l dry-run -d 'only print what would be removed'
complete -c oncedrop -n '__oncedrop_in forget' -l yes -d 'remove it'
for command in replay resume restore check route config show list feed locks stats purge expire version
    complete -c oncedrop -n "__oncedrop_in $command" -l json -d 'as JSON, for programs'
end

complete -c oncedrop -n '__oncedrop_in replay; and not contains -- (commandline -opc)[-1] -d -f -j --mbox' -F
complete -c oncedrop -n '__oncedrop_in schema' -a 'install upgrade method print version'
complete -c oncedrop -n '__oncedrop_in ledger' -Fa 'install upgrade method print version backup check copy'
complete -c oncedrop -n '__oncedrop_in feed' -a 'list run show wait fill reset retry drop'
complete -c oncedrop -n '__oncedrop_in help' -a 'deliver lmtp serve replay resume restore setup schema ledger check route config show list feed locks stats purge expire export forget version help'
