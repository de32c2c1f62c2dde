-- word now: the moment, in microseconds since 1970, whatever the session's time zone; one moment for a statement
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))

-- word utc: a time as text: UTC, ISO 8601
DATE_FORMAT(TIMESTAMPADD(MICROSECOND, {}, '1970-01-01'), '%Y-%m-%dT%H:%i:%sZ')

-- word ago: the moment so many milliseconds ago
(@now@ - ({}) * 1000)

-- word age_ms: milliseconds since a moment
((@now@ - ({})) DIV 1000)

-- word us: a time as microseconds since 1970
({})
