-- macro cast: of a value
::{}
-- macro since: @now@ is their default, and deliveries have no right to give them
-- macro since_now:
-- macro utc: a time as text: UTC, ISO 8601, independent of the session's TimeZone and DateStyle
to_char(({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
-- macro now: the moment, not the transaction's beginning
pg_catalog.clock_timestamp()
-- macro ms:
{}::bigint * interval '1 millisecond'
-- macro age_ms:
(extract(epoch FROM pg_catalog.clock_timestamp() - {}) * 1000)::bigint
-- macro safe_path: a column of a SELECT that comes before all other statements of a transaction, and itself needs no
-- operator: from then on no operator, function or type of a stranger is found, however well it fits (as bigint * interval
-- in public would, where PostgreSQL has only double precision * interval). For the transaction, so that a pooler does not
-- hand it on
pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)
-- macro us:
(extract(epoch FROM {}) * 1000000)::bigint
-- macro moment:
(timestamptz 'epoch' + {}::bigint * interval '1 microsecond')
-- macro of_seconds:
pg_catalog.to_timestamp({}::bigint)
-- macro seconds_at:
pg_catalog.to_timestamp(pg_catalog.ltrim({}::text, '@')::double precision)
-- macro seconds:
round(({}) / 1000.0, 3)
-- macro hex:
encode({}, 'hex')
-- macro in:
= ANY ({}[])
-- macro list:
to_jsonb({})
-- macro dumped_list:
pg_catalog.to_json({})::text
-- macro loaded_list:
ARRAY(SELECT pg_catalog.json_array_elements_text({}::json))
-- macro overriding:
OVERRIDING SYSTEM VALUE
-- macro bytewise:
"{}" COLLATE "C"
-- macro path_key:
string_to_array(path, '.')::int[]
-- macro key_of: a bigint key stands in pg_locks in two halves with objsubid 1
(({}.classid::bigint << 32) | {}.objid::bigint)
-- macro our_database: its oid
(SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
-- macro if_may_claim: not set, unless this transaction has executed lock_advisory
AND pg_catalog.current_setting('oncedrop.may_claim', TRUE) IS DISTINCT FROM 'false'
