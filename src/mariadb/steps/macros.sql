-- macro now: the moment, in UTC, independent of the session's time zone; one moment for a statement
UTC_TIMESTAMP(6)

-- macro utc: a time as text: UTC, ISO 8601
DATE_FORMAT({}, '%Y-%m-%dT%H:%i:%sZ')

-- macro ago: the moment N milliseconds ago
(@now@ - INTERVAL ({}) * 1000 MICROSECOND)

-- macro age_us: microseconds since a moment
TIMESTAMPDIFF(MICROSECOND, {}, @now@)

-- macro age_ms: milliseconds since a moment
(@age_us({})@ DIV 1000)

-- macro us: a time as microseconds since 1970
TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})

-- macro moment: a time given in microseconds since 1970
TIMESTAMPADD(MICROSECOND, {}, '1970-01-01')

-- macro of_seconds: a time given in seconds since 1970
TIMESTAMPADD(SECOND, {}, '1970-01-01')

-- macro present: the present in microseconds since 1970, by the clock that moved least since copy c was claimed. Compared are the
-- database's clock; CLOCK_BOOTTIME, if this is the machine that made the claim (time since boot, if it was rebooted); the wall
-- clocks of the hosts. A clock by which the claim is in the future does not count
least(@us(@now@)@,
CASE WHEN c.boot = :boot AND c.boot_us + :running_us >= @us(c.claimed_at)@
THEN c.boot_us + :running_us
WHEN c.boot <> :boot AND c.host = :host THEN @us(c.claimed_at)@ + :running_us ELSE @us(@now@)@ END,
CASE WHEN c.host_us + :wall_us >= @us(c.claimed_at)@ THEN c.host_us + :wall_us ELSE @us(@now@)@ END)

-- macro claim_age_ms: milliseconds since copy c was claimed, at least
((@present@ - @us(c.claimed_at)@) DIV 1000)

-- macro first_age_ms: milliseconds since the first claim of copy c. What the clock jumped since the last claim does not count
((@present@ - @us(c.first_at)@) DIV 1000)

-- macro in_hold_off: whether others leave copy c alone, since the server may still store it: it was claimed less than the hold-off
-- ago, by the clock that moved least. In C the same rule is ledger_in_hold_off
@claim_age_ms@ < :hold_off_ms

-- macro hold_off_ends: when the hold-off of a copy that was claimed then is over by the database's clock. By another clock it may be
-- over later
({} + INTERVAL :hold_off_ms * 1000 MICROSECOND)
