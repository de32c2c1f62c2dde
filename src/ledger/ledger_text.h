/* SPDX-License-Identifier: ISC
 *
 * SQL fragments shared by the queries for people. */
#ifndef ONCEDROP_LEDGER_TEXT_H
#define ONCEDROP_LEDGER_TEXT_H

/* A time as text: UTC, ISO 8601, whatever the session's TimeZone and DateStyle. */
#define LEDGER_TIME(expression) "to_char(" expression " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"

#endif
