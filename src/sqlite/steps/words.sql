-- word schema: the file
main

-- word now: the moment, in microseconds since 1970; not strftime, which has milliseconds, and one moment for a statement
oncedrop_now()

-- word utc: a time as text: UTC, ISO 8601
strftime('%Y-%m-%dT%H:%M:%SZ', ({}) / 1000000, 'unixepoch')

-- word ago: the moment so many milliseconds ago
(@now@ - ({}) * 1000)

-- word age_ms: milliseconds since a moment
((@now@ - ({})) / 1000)

-- word us: a time as microseconds since 1970
({})
