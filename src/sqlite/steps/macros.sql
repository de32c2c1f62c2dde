-- macro schema: the file
main
-- macro value:
?{}
-- macro now: the moment, in microseconds since 1970; not strftime, which has milliseconds, and one moment for a statement
oncedrop_now()
-- macro utc:
strftime('%Y-%m-%dT%H:%M:%SZ', ({}) / 1000000, 'unixepoch')
-- macro ms:
({}) * 1000
-- macro age_ms:
((@now@ - ({})) / 1000)
-- macro us:
({})
-- macro moment:
{}
-- macro of_seconds:
{} * 1000000
-- macro seconds_at:
(CAST(substr({}, 2) AS REAL) * 1000000)
-- macro seconds:
printf('%.3f', ({}) / 1000.0)
-- macro round:
CAST(round({}) AS INTEGER)
-- macro least:
min
-- macro greatest:
max
-- macro in:
IN (SELECT value FROM json_each({}))
-- macro join: joins the tables in this order
CROSS JOIN
-- macro not_stored: a partial index is used only if its condition is repeated
state <> 'stored' AND
-- macro dumped_list:
(SELECT json_group_array(value) FROM json_each({}))
-- macro nothing: no statement
