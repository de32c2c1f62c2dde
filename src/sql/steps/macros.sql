-- Macros of all engines. An engine's macros.sql must have those listed here, and may replace any below. @schema@ is built in; an
-- engine without schemas has a macro for it (MariaDB).
--
-- @now@            the moment
-- @utc(T)@         a time as text: UTC, ISO 8601
-- @us(T)@          a time as microseconds since 1970
-- @moment(N)@      a time given in microseconds since 1970; @of_seconds(N)@ in seconds
-- @seconds_at(X)@  a time in the format of struct ledger_filter
-- @ms(N)@          milliseconds, to be added to a time
-- @age_ms(T)@      milliseconds since a moment
-- @seconds(N)@     milliseconds as seconds, with three decimals
-- @in(L)@          whether what is before it is in a list of values
-- @path_key@       the path of a part, so that it sorts by number
-- @last(TABLE)@    the highest id that a table has assigned
-- @dumped_list(L)@ a list as JSON without blanks

-- macro cast: of a value: :NAME::TYPE
-- macro nothing: a statement without effect
SELECT 0
-- macro least: the least of several values
least
-- macro greatest: the greatest of several values
greatest
-- macro div: division of whole numbers
/
-- macro round: to a whole number
round({})
-- macro hex: bytes as text
lower(hex({}))
-- macro lower_account: an account in lower case
lower({})
-- macro list: a list as JSON
{}
-- macro loaded_list: a list from JSON
{}
-- macro join: joins tables; if the engine heeds it, in this order
JOIN
-- macro or_update: what to change in the row that has this key already
ON CONFLICT ({}) DO UPDATE SET
-- macro since: columns for the moment in which a row is made; none, where that is their default
{},
-- macro since_now: their values
@now@, @now@,
-- macro new: the new value of a column, after @or_update@
excluded.{}
-- macro overriding: allows an INSERT to give ids
-- macro from_key: where reading by key begins, for an engine that uses no index to compare rows
-- macro bytewise: a column, compared by its bytes
"{}"

-- macro ago: the moment N milliseconds ago
(@now@ - @ms({})@)
-- macro present: the present in microseconds since 1970, by the clock that moved least since copy c was claimed. Compared are the
-- database's clock; CLOCK_BOOTTIME, if this is the machine that made the claim (time since boot, if it was rebooted); the wall
-- clocks of the hosts. A host's clock by which the claim is in the future does not count; the database's makes the age negative
@least@(@us(@now@)@,
CASE WHEN c.boot = :boot::bigint AND c.boot_us + :running_us::bigint >= @us(c.claimed_at)@
THEN c.boot_us + :running_us::bigint
WHEN c.boot <> :boot::bigint AND c.host = :host::text THEN @us(c.claimed_at)@ + :running_us::bigint ELSE @us(@now@)@ END,
CASE WHEN c.host_us + :wall_us::bigint >= @us(c.claimed_at)@ THEN c.host_us + :wall_us::bigint ELSE @us(@now@)@ END)
-- macro claim_age_ms: milliseconds since copy c was claimed, at least
((@present@ - @us(c.claimed_at)@) @div@ 1000)
-- macro first_age_ms: milliseconds since the first claim of copy c. What the clock jumped since the last claim does not count
((@present@ - @us(c.first_at)@) @div@ 1000)
-- macro in_hold_off: whether others leave copy c alone, since the server may still store it: it was claimed less than the hold-off
-- ago, by the clock that moved least. In C the same rule is ledger_in_hold_off
@claim_age_ms@ < :hold_off_ms::bigint
-- macro hold_off_ends: when the hold-off of a copy that was claimed then is over by the database's clock. By another clock it may be
-- over later
({} + @ms(:hold_off_ms)@)
-- macro if_may_claim: a further condition of what step claim_guard guards, where the engine does not see to that itself
-- macro not_stored: the condition of an index with only those copies, where an engine uses it only if it is repeated

