-- macro utc: a time as text: UTC, ISO 8601, independent of the session's TimeZone and DateStyle
to_char(({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')

-- macro now: the moment, not the transaction's beginning
pg_catalog.clock_timestamp()

-- macro ago: the moment N milliseconds ago
pg_catalog.clock_timestamp() - {}::bigint * interval '1 millisecond'

-- macro age_ms: milliseconds since a moment
(extract(epoch FROM pg_catalog.clock_timestamp() - {}) * 1000)::bigint

-- macro safe_path: a column of a SELECT that comes before all other statements of a transaction, and itself needs no
-- operator: from then on no operator, function or type of a stranger is found, however well it fits (as bigint * interval
-- in public would, where PostgreSQL has only double precision * interval). For the transaction, so that a pooler does not
-- hand it on
pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)

-- macro us: a time as microseconds since 1970
(extract(epoch FROM {}) * 1000000)::bigint

-- macro key_of: a bigint key stands in pg_locks in two halves with objsubid 1
(({}.classid::bigint << 32) | {}.objid::bigint)

-- macro our_database: its oid
(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())

-- macro present: the present in microseconds since 1970, by the clock that moved least since copy c was claimed. Compared are the
-- database's clock; CLOCK_BOOTTIME, if this is the machine that made the claim (time since boot, if it was rebooted); the wall
-- clocks of the hosts. A clock by which the claim is in the future does not count
least(@us(@now@)@,
CASE WHEN c.boot = :boot::bigint AND c.boot_us + :running_us::bigint >= @us(c.claimed_at)@
THEN c.boot_us + :running_us::bigint
WHEN c.boot <> :boot::bigint AND c.host = :host::text THEN @us(c.claimed_at)@ + :running_us::bigint ELSE @us(@now@)@ END,
CASE WHEN c.host_us + :wall_us::bigint >= @us(c.claimed_at)@ THEN c.host_us + :wall_us::bigint ELSE @us(@now@)@ END)

-- macro claim_age_ms: milliseconds since copy c was claimed, at least
((@present@ - @us(c.claimed_at)@) / 1000)

-- macro first_age_ms: milliseconds since the first claim of copy c. What the clock jumped since the last claim does not count
((@present@ - @us(c.first_at)@) / 1000)

-- macro in_hold_off: whether others leave copy c alone, since the server may still store it: it was claimed less than the hold-off
-- ago, by the clock that moved least. In C the same rule is ledger_in_hold_off
@claim_age_ms@ < :hold_off_ms::bigint

-- macro hold_off_ends: when the hold-off of a copy that was claimed then is over by the database's clock. By another clock it may be
-- over later
({} + :hold_off_ms::bigint * interval '1 millisecond')
