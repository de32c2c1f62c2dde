-- word utc: a time as text: UTC, ISO 8601, whatever the session's TimeZone and DateStyle
to_char(({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')

-- word now: the moment, not the transaction's beginning
pg_catalog.clock_timestamp()

-- word ago: the moment so many milliseconds ago
pg_catalog.clock_timestamp() - {}::bigint * interval '1 millisecond'

-- word age_ms: milliseconds since a moment
(extract(epoch FROM pg_catalog.clock_timestamp() - {}) * 1000)::bigint

-- word safe_path: a column of a SELECT that comes before all other statements of a transaction, and itself needs no
-- operator: from then on no operator, function or type of a stranger is found, however well it fits (as bigint * interval
-- in public would, where PostgreSQL has only double precision * interval). For the transaction, so that a pooler does not
-- hand it on
pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)

-- word us: a time as microseconds since 1970
(extract(epoch FROM {}) * 1000000)::bigint

-- word key_of: a bigint key stands in pg_locks in two halves with objsubid 1
(({}.classid::bigint << 32) | {}.objid::bigint)

-- word our_database: its oid
(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
