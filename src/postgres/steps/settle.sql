-- settle_reply:
WITH tried AS (UPDATE @schema@.delivery d SET outcome = :outcome::text, reason = :reason::text,
last_at = @now@,
finished_at = CASE WHEN :is_finished::boolean THEN coalesce(d.finished_at, @now@)
ELSE d.finished_at END, complete = d.complete OR :is_complete::boolean
FROM @schema@.message m WHERE m.identity = :identity AND m.digest = :digest AND d.message = m.id
AND d.recipient = :recipient RETURNING d.id)
UPDATE @schema@.attempt t SET outcome = :outcome::text, reason = :reason::text, ended_at = CASE WHEN :outcome::text <> 'claimed'
THEN @now@ END, read_ms = :read_ms::bigint, lock_ms = :lock_ms::bigint,
database_ms = :database_ms::bigint, imap_ms = :imap_ms::bigint FROM tried
WHERE t.delivery = tried.id AND t.claim = :claim::bigint

-- notify:
SELECT pg_catalog.pg_notify(:channel, id::text) FROM @schema@.message WHERE identity = :identity AND digest = :digest
