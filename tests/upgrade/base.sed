# SPDX-License-Identifier: ISC
#
# Makes of each engine's 001-base.sql the first version of an artificial schema, for tests of `ledger upgrade`: it lacks a column that
# deliveries need. ENGINE/002-column.sql adds it, so that both together make what 001-base.sql makes.

/^ *host_us /d
s/, host_us//g
