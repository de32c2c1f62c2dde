/* SPDX-License-Identifier: ISC
 *
 * The table of commands, and those that need no configuration: version, help. */
#include "cmd/command.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/terminal.h"
#include "cmd/nearest.h"
#include "cmd/table.h"

static int run_version(struct cmd *cmd)
{
    bool json = false;
    const struct cmd_option words[] = {{"json", .flag = &json}, {.name = NULL}};
    if (!cmd_parse(cmd, words, 0, 0, NULL))
        return CMD_USAGE;
    if (json)
        table_print_json(json_pack("{s:s}", "version", VERSION));
    else
        puts("oncedrop " VERSION);
    return 0;
}

static int run_help(struct cmd *cmd);

static const struct command commands[] = {
    {"deliver", cmd_deliver, true,
     "[-f SENDER] [-d RECIPIENT] [-a ORIGINAL_RECIPIENT] [-q QUEUE_ID] [-s SIZE] [-u SASL_USER] [-S SOCKET] < "
     "message",
     "deliver one message to one recipient",
     "Reads the message from standard input. Values that are not on the command line come from the environment that Postfix\n"
     "local(8) sets, else from the header. If the service (oncedrop serve) runs, on SOCKET or where the default of\n"
     "service.socket is, it delivers; -c, -o or -v before the command prevent that. Exit status 0: stored, or already there;\n"
     "75: Postfix will retry; 67, 69, 65: refused for good. One line of output says which and why.\n"},
    {"lmtp", cmd_lmtp, true, "", "serve LMTP on standard input and output",
     "For Postfix spawn(8), a systemd socket with Accept=yes, or inetd. All recipients of a message are delivered under\n"
     "one lock, each with its own reply; the database and IMAP sessions are kept from message to message.\n"},
    {"serve", cmd_serve, false, "", "serve LMTP on a socket, resident",
     "Starts service.workers processes that accept connections on service.socket and keep their database and IMAP sessions\n"
     "from one to the next. root makes the socket and becomes service.user. Runs in the foreground, for systemd; takes\n"
     "systemd's listening socket if there is one.\n\n"
     "SIGHUP loads the configuration anew; SIGTERM ends it after the transactions under way, a second one at once.\n"},
    {"replay", cmd_replay, false,
     "[-d RECIPIENT]... [-f SENDER] [-j N] [--dry-run] [--verify | --force] [--json] PATH...",
     "deliver messages from files",
     "PATH is a message, an mbox, a Maildir, a directory of any of these, or - for standard input. Recipients: -d, else\n"
     "Delivered-To or X-Original-To, else those in To, Cc and Bcc that have an account. Messages already in place are not\n"
     "delivered again, so the command can be repeated until all are. Files are only read.\n\n"
     "  -j N        N messages at a time\n"
     "  --dry-run   only print what would be done with each message, and why; with --verify, look into the mailboxes\n"
     "  --verify    search the mailboxes instead of trusting the ledger, and restore what is missing there\n"
     "  --force     deliver again what is already delivered\n"
     "  --json      print one JSON object per message\n\n"
     "Exit status 0: all are in place; 75: some are deferred, run it again; 65: some failed; 66: PATH cannot be read.\n"},
    {"resume", cmd_resume, false, "[-j N] [--json]", "finish deliveries that were recorded but not completed",
     "For messages whose bytes are recorded (record.level = raw) and that were certainly complete. Any number of these\n"
     "commands may run at a time, on any number of hosts; -j N handles N messages at a time.\n"
     "Exit status 0: all are in place; 75: some are still deferred, run it again; 65: some were refused for good.\n"},
    {"restore", cmd_restore, false, "[--account ACCOUNT] [--since T] [-j N] [--deleted] [--dry-run] [--json]",
     "restore mail that the IMAP server has lost",
     "For a server that was set back to a backup: looks into the mailboxes for what is recorded as stored, and adds what is\n"
     "missing, with the bytes of the record (record.level = raw). What may have been deleted since is counted, and left so.\n"
     "It can be repeated, and run beside deliveries. --dry-run shows first what it would do.\n\n"
     "  --account ACCOUNT  only the mailboxes of this account\n"
     "  --since T          only what was stored since; an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01,\n"
     "                     2025-08-01T10:00Z). Choose the time of the backup, or earlier\n"
     "  -j N               N messages at a time\n"
     "  --deleted          also restore what may have been deleted\n"
     "  --dry-run          look, but only print what would be done\n"
     "  --json             print one JSON object per message\n\n"
     "Exit status 0: nothing is missing any more; 75: some are deferred, run it again; 65: some failed, or their bytes are not\n"
     "recorded.\n"},
    {"setup", cmd_setup, false,
     "--domain DOMAIN [--way WAY] [--accounts KIND] [--sent-copies] [--conninfo CONNINFO] [--postmaster ADDRESS] [--root DIR]"
     " [--dry-run] | --undo [--dry-run]",
     "set up Postfix, Dovecot and the ledger on this host",
     "For mail to DOMAIN, with Postfix and Dovecot on this host. Repeated, it changes only what is not yet as it should be.\n"
     "It replaces nothing that it does not know: what stands in its way it names, and then changes nothing at all.\n\n"
     "  --way WAY           lmtp: to the resident service (default); mailbox_command: by it, too, as each user of the system;\n"
     "                      pipe: a process for each message\n"
     "  --accounts KIND     system: users of the system (default); virtual: accounts are addresses, which Dovecot knows\n"
     "  --sent-copies       users submit mail on port 587, and all of it is filed in Sent\n"
     "  --conninfo CONNINFO where the ledger is; default: sqlite:/var/lib/oncedrop/ledger.db. For PostgreSQL on this host it\n"
     "                      makes roles, database and schema\n"
     "  --postmaster ADDRESS who reads the mail for root and postmaster; default: the first user\n"
     "  --root DIR          work on the files below DIR; users, ledger and services are not touched\n"
     "  --dry-run           print each file, statement and command; change nothing\n"
     "  --undo              restore what setup changed; the ledger stays\n\n"
     "Exit status 0: all is set up; 1: nothing was changed, or it stopped, and says what to do.\n"},
    {"schema", cmd_schema, false, "install|upgrade|method|print|version",
     "create or upgrade the tables in the database",
     "install creates the schema named by database.schema; upgrade brings it to this program's version. Both print nothing\n"
     "if there is nothing to do. method records lock.method as the one of all hosts. print writes the SQL to standard\n"
     "output; version prints the installed and the required version. install needs the right to create a schema;\n"
     "upgrade and method must be run as its owner. A delivery needs only the role SCHEMA_delivery, which install creates;\n"
     "show, list, locks, stats, resume, restore, purge, abandon, export and forget need SCHEMA_operator.\n"},
    {"ledger", cmd_ledger, false,
     "install|upgrade|method|print|version | backup FILE | check | copy [--running] TARGET",
     "create, upgrade, back up, check or copy the ledger",
     "install, upgrade, method, print and version: as for schema.\n\n"
     "backup FILE writes a copy of a ledger in SQLite into a new file, while deliveries go on. check reads all of such a\n"
     "ledger: is it whole? What a database server has for that: oncedrop(1).\n\n"
     "copy copies the ledger into another one, of any engine: TARGET is like database.conninfo. Install it first: oncedrop -o\n"
     "database.conninfo=TARGET ledger install. All rows keep their numbers, and are compared at the end; a copy that was\n"
     "interrupted goes on where it ended. Nothing is delivered meanwhile: stop Postfix or the service before.\n\n"
     "  --running   copy although deliveries go on; the copy lacks what they change from now on\n\n"
     "Exit status 0: done, or whole; 1: the ledger is damaged, or TARGET holds something else; 69: a database is not\n"
     "available; 73: FILE cannot be written.\n"},
    {"check", cmd_check, false, "[--json] [--quick | [--send] [ADDRESS]]", "check that everything is in place",
     "Tests the database, the lock, recording a delivery (rolled back), the route of ADDRESS (a recipient as Postfix passes\n"
     "it), the IMAP server's certificate, a login to that account, capabilities and mailboxes, and the time limits. If\n"
     "postconf(1) is installed, tests Postfix too: is mail routed here, and do settings bounce it? Each item is ok, warning or\n"
     "failed, with what to do; the last line counts them. Takes less than a minute, whatever is broken. If root runs it, it\n"
     "switches to the user that deliveries run as (service.user).\n\n"
     "  --send      if nothing failed, also send a message to ADDRESS through Postfix, wait a minute at most, and show where it\n"
     "              is, and the line in the log, or why Postfix deferred it\n"
     "  --quick     only test the configuration, that the ledger can be read, and that the IMAP server greets, within a second;\n"
     "              nothing is written: for a container's health check\n"
     "  --json      print an array of objects: item, status, text\n\n"
     "Exit status 0: nothing failed; 1: something did.\n"},
    {"route", cmd_route, false, "[--json] ADDRESS...", "print the account and the mailboxes that an address leads to",
     "Prints account, inbox and sent as a delivery to ADDRESS finds them, each with the setting that decides.\n\n"
     "  --json      print an array of objects: address, account, inbox, sent, account_by, inbox_by, sent_by; error if there\n"
     "              is no account\n\n"
     "Exit status 0: each address has an account; 1: one has none; 69: the database is needed but not available.\n"},
    {"config", cmd_config, false, "[-n | -d | --test] [--json]", "print the settings in force",
     "-n prints those that differ from the defaults, -d the defaults. --test prints nothing if the configuration is right.\n"
     "--json prints them as an object.\n"
     "Exit status 0: it is right; 78: it is not.\n"},
    {"show", cmd_show, false, "[--digest] [--look] [--utc] [--json] MESSAGE-ID|QUEUE-ID|DIGEST",
     "print everything known about a message, why a copy was or was not made, and the key of its lock",
     "Each try has a row, with its reason and where its time went. A message is found by every queue id it ever had. The id\n"
     "may be enclosed in <>; with --digest it can only be a content digest. The key of the lock is printed even if the id is\n"
     "unknown. Times are local, with --utc UTC; in JSON they always are.\n"
     "With --look it searches the mailboxes, and says of each copy whether it is still there. It says neither if that is not\n"
     "certain.\n"
     "Exit status 0: found; 1: unknown.\n"},
    {"list", cmd_list, false,
     "[--state S] [--since T] [--until T] [--recipient A] [--sender A] [--mailbox NAME] [--subject TEXT] [--message-id PART]"
     " [--queue-id Q] [--delay AGE] [--missing] [--limit N] [--utc] [--json]",
     "list copies of messages, newest first",
     "  --state S       pending, appending, stored, failed, abandoned, or unfinished (the first two)\n"
     "  --since T       an age (30m, 2h, 7d), today, yesterday, or a date (2025-08-01, 2025-08-01T10:00,\n"
     "                  2025-08-01T10:00Z); local, if there is no zone\n"
     "  --until T       first attempted before then\n"
     "  --recipient A   for this envelope recipient or account\n"
     "  --sender A      from this envelope sender (<> for bounces), or with this address in From\n"
     "  --mailbox NAME  in this mailbox\n"
     "  --subject TEXT  with this text in the subject, in upper or lower case\n"
     "  --message-id PART  with this text in the Message-ID, likewise\n"
     "  --queue-id Q    of messages that Postfix delivered under this queue id\n"
     "  --delay AGE     stored or given up at least this long (90s, 5m, 1h) after Postfix received it, or unfinished by then\n"
     "  --missing       stored, but not in the mailbox any more: each is looked for, as by show --look\n"
     "  --limit N       at most this many; default 50; with --missing, look for no more\n"
     "  --utc           print and read times in UTC instead of local time\n"},
    {"locks", cmd_locks, false, "[--json]", "list deliveries in progress, and who holds and awaits their locks",
     "For each message: which copies are being stored, by whom and since when; which database session holds its lock, and\n"
     "which ones wait for it. A free lock means that the delivery died. Sessions that are not deliveries, such as psql, are\n"
     "listed too; since when they have held a lock, a database may show to some of its users only (see oncedrop(1)).\n"},
    {"stats", cmd_stats, false, "[--utc] [--prometheus | --json]", "print totals, outcomes, and delivery times",
     "Hours are local, with --utc UTC. --prometheus writes the format that node_exporter's textfile collector reads, also if\n"
     "the ledger does not answer: that is then what it says. Its counters never decrease.\n"},
    {"purge", cmd_purge, false, "--older-than AGE [--dry-run] [--json]", "remove old messages from the record",
     "AGE is, for example, 90d; at least 7d, because Postfix may still retry younger messages. Unfinished messages are kept,\n"
     "except that those last tried longer ago than record.abandon_after are first abandoned. Works in batches; no delivery\n"
     "has to wait. Needs the role SCHEMA_operator.\n"},
    {"abandon", cmd_abandon, false, "[--dry-run] [--json] [MESSAGE-ID|QUEUE-ID]...",
     "mark messages that left Postfix's queue undelivered",
     "Without ids: every unfinished message whose last try was longer ago than record.abandon_after (10d). With ids: these,\n"
     "however old, for example after postsuper -d. They no longer count as unfinished, and purge removes them. If such a\n"
     "message is delivered after all, it is treated like any other. Needs the role SCHEMA_operator.\n\n"
     "  --dry-run   only list them\n"
     "  --json      print an object: messages, dry_run, and the array abandoned\n\n"
     "Exit status 0: done; 1: no such message; 75: one is being delivered and was skipped.\n"},
    {"export", cmd_export, false, "[--raw DIR] ADDRESS", "print everything that is recorded about an address",
     "A line of JSON for each message, the oldest first, of which ADDRESS is the envelope sender, an envelope recipient, before or\n"
     "after aliases, the account, or an address in the header that is recorded. Of the deliveries, tries and copies only those\n"
     "of ADDRESS. Needs the role SCHEMA_operator.\n\n"
     "  --raw DIR   also write the recorded bytes of each message (record.level = raw) to DIR/DIGEST.eml; DIR is new or empty\n\n"
     "Exit status 0: found; 1: nothing is recorded; 73: DIR cannot be used.\n"},
    {"forget", cmd_forget, false, "[--dry-run | --yes] ADDRESS", "remove the messages of an address from the record",
     "Removes what is recorded of each message that export would print, for all its recipients; mailboxes stay as they are.\n"
     "Messages younger than 7 days, which Postfix may still retry, unfinished ones, and those being delivered stay, and are\n"
     "counted: run it again later. Works in batches; no delivery has to wait. Needs the role SCHEMA_operator.\n\n"
     "  --dry-run   only print what would be removed; so does forget without an option\n"
     "  --yes       remove it\n\n"
     "Exit status 0: done; 1: nothing is recorded; 75: something is left, run it again.\n"},
    {"version", run_version, false, "[--json]", "print the version", ""},
    {"help", run_help, false, "[COMMAND]", "explain a command", ""},
    {NULL, NULL, false, NULL, NULL, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *nearest[NEAREST_MOST];
    const char *names[G_N_ELEMENTS(commands)];
    size_t count = 0;
    for (const struct command *command = commands; command->name != NULL; command++)
        names[count++] = command->name;
    return nearest_find(names, count, name, nearest) > 0 ? nearest[0] : NULL;
}

int command_usage(const struct command *command)
{
    terminal_print(stderr, 2, "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... %s%s%s", command->name,
                   command->arguments[0] != '\0' ? " " : "", command->arguments);
    return EX_USAGE;
}

void command_print_help(const struct command *command)
{
    char *summary OD_CLEANUP(base_free) =
        base_printf("\n%c%s.\n", g_ascii_toupper(command->summary[0]), command->summary + 1);
    terminal_print(stdout, 4, "oncedrop %s%s%s", command->name, command->arguments[0] != '\0' ? " " : "",
                   command->arguments);
    terminal_print_prose(stdout, summary);
    fputs(command->help[0] != '\0' ? "\n" : "", stdout);
    terminal_print_prose(stdout, command->help);
}

static int run_help(struct cmd *cmd)
{
    if (!cmd_parse(cmd, NULL, 0, 1, NULL))
        return CMD_USAGE;
    const char *name = cmd->operands[0];
    const struct command *command = name != NULL ? command_find(name) : NULL;
    if (name != NULL && command == NULL) {
        const char *nearest = command_nearest(name);
        return cmd_fail(EX_USAGE, "help: no such command: %s%s%s; see oncedrop help", name,
                        nearest != NULL ? "; nearest: " : "", nearest != NULL ? nearest : "");
    }
    if (command != NULL) {
        command_print_help(command);
        return 0;
    }
    puts(
        "oncedrop delivers mail from Postfix over IMAP, exactly once.\n\n"
        "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... COMMAND\n");
    for (command = commands; command->name != NULL; command++) {
        char *line OD_CLEANUP(base_free) = base_printf("  %-10s%s\n", command->name, command->summary);
        terminal_print_prose(stdout, line);
    }
    puts("\n  -c FILE               configuration file (default " CONFIG_DEFAULT_FILE
         ")\n"
         "  -o GROUP.NAME=VALUE   override one setting, repeatable\n"
         "  -v                    log more, also to stderr\n\n"
         "More: oncedrop help COMMAND, oncedrop(1), oncedrop.conf(5).");
    return 0;
}
