-- macro schema: none: all names are of one database
-- macro nothing:
DO 0
-- macro now: the moment, in UTC, independent of the session's time zone; one moment for a statement
UTC_TIMESTAMP(6)
-- macro utc:
DATE_FORMAT({}, '%Y-%m-%dT%H:%i:%sZ')
-- macro ms:
INTERVAL ({}) * 1000 MICROSECOND
-- macro age_us: microseconds since a moment
TIMESTAMPDIFF(MICROSECOND, {}, @now@)
-- macro age_ms:
(@age_us({})@ DIV 1000)
-- macro us:
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})
-- macro moment:
TIMESTAMPADD(MICROSECOND, {}, '1970-01-01')
-- macro of_seconds:
TIMESTAMPADD(SECOND, {}, '1970-01-01')
-- macro seconds_at:
@moment(CAST(CAST(substr({}, 2) AS DOUBLE) * 1000000 AS INTEGER))@
-- macro seconds:
round(({}) / 1000, 3)
-- macro div:
DIV
-- macro in:
IN ({})
-- macro lower_account:
lower(CONVERT({} USING utf8mb4)) COLLATE utf8mb4_nopad_bin
-- macro or_update: by any key
ON DUPLICATE KEY UPDATE
-- macro new:
VALUES({})
-- macro dumped_list:
JSON_COMPACT({})
-- macro from_key: begins reading at this key; no index is used for a comparison of rows alone
{} >= :{} AND
-- macro path_key:
NATURAL_SORT_KEY(path)
