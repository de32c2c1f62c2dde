-- word now: the moment, in UTC, whatever the session's time zone; one moment for a statement
UTC_TIMESTAMP(6)

-- word utc: a time as text: UTC, ISO 8601
DATE_FORMAT({}, '%Y-%m-%dT%H:%i:%sZ')

-- word ago: the moment so many milliseconds ago
(@now@ - INTERVAL ({}) * 1000 MICROSECOND)

-- word age_us: microseconds since a moment
TIMESTAMPDIFF(MICROSECOND, {}, @now@)

-- word age_ms: milliseconds since a moment
(@age_us({})@ DIV 1000)

-- word us: a time as microseconds since 1970
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})

-- word moment: the time so many microseconds since 1970
TIMESTAMPADD(MICROSECOND, {}, '1970-01-01')

-- word of_seconds: the time so many seconds since 1970
TIMESTAMPADD(SECOND, {}, '1970-01-01')
