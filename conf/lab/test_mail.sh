#!/bin/sh
# SPDX-License-Identifier: ISC
#
# A test of an application that sends mail, here curl:
#
#   oncedrop-lab sh test_mail.sh
set -eu
lisa=${ONCEDROP_ACCOUNTS%% *}
others=${ONCEDROP_ACCOUNTS#* }
scuba=${others%% *}
id=$(date +%s).$$@example.org

#   found ACCOUNT MAILBOX: the numbers of the messages with this Message-ID; nothing if there is no such mailbox yet
found() {
    curl -s -u "$1:$ONCEDROP_PASSWORD" "imap://$ONCEDROP_HOST:$ONCEDROP_IMAP_PORT/$2" \
        -X "SEARCH HEADER Message-ID $id" | tr -d '\r' | sed -n 's/^\* SEARCH *//p'
}

#   expect_one ACCOUNT MAILBOX
expect_one() {
    tries=300
    while [ -z "$(found "$1" "$2")" ] && [ $((tries -= 1)) -gt 0 ]; do
        sleep 0.1
    done
    numbers=$(found "$1" "$2")
    case $numbers in
        '' | *' '*) echo "$2 of $1: ${numbers:-nothing}, not one message" >&2; exit 1 ;;
    esac
}

curl -sS "smtp://$ONCEDROP_HOST:$ONCEDROP_SMTP_PORT" --mail-from "$lisa" --mail-rcpt "$scuba" --upload-file - <<END
From: $lisa
To: $scuba
Subject: Cookies
Date: $(LC_ALL=C date '+%a, %d %b %Y %H:%M:%S %z')
Message-ID: <$id>

They are in the kitchen.
END
expect_one "$scuba" INBOX
expect_one "$lisa" Sent
echo 'It is in both mailboxes, once.'
