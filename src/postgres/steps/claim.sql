-- reply: in one statement
WITH tried AS (INSERT INTO @schema@.delivery AS d (message, recipient, original_recipient, account, mailbox,
queue_id, host, outcome, reason, finished_at, complete)
SELECT id, :recipient::text, :original::text, :account::text, :mailbox::text, :queue_id::text, :host::text,
:outcome::text, :reason::text, CASE WHEN :is_finished::boolean THEN @now@ END, :is_complete::boolean
FROM @schema@.message WHERE identity = :identity AND digest = :digest @if_may_claim@
ON CONFLICT (message, recipient) DO UPDATE SET
original_recipient = coalesce(EXCLUDED.original_recipient, d.original_recipient),
account = EXCLUDED.account, mailbox = EXCLUDED.mailbox,
queue_id = coalesce(EXCLUDED.queue_id, d.queue_id), host = EXCLUDED.host,
outcome = EXCLUDED.outcome, reason = EXCLUDED.reason, attempts = d.attempts + 1,
last_at = @now@,
finished_at = coalesce(CASE WHEN d.outcome <> 'expired' THEN d.finished_at END, EXCLUDED.finished_at),
complete = d.complete OR EXCLUDED.complete RETURNING d.id)
INSERT INTO @schema@.attempt (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
SELECT id, :claim::bigint, @now@ - interval '1 millisecond' *
(:read_ms::bigint + :lock_ms::bigint + :database_ms::bigint + :imap_ms::bigint),
CASE WHEN :outcome::text <> 'claimed' THEN @now@ END, :queue_id::text,
pg_catalog.to_timestamp(:queued_at::bigint), :host::text, :pid::integer, :outcome::text, :reason::text,
:read_ms::bigint, :lock_ms::bigint, :database_ms::bigint, :imap_ms::bigint,
CASE WHEN :trace::boolean THEN substring(pg_catalog.sha256(:identity::bytea || :digest::bytea) FROM 1 FOR 16) END,
CASE WHEN :trace::boolean THEN substring(pg_catalog.sha256(pg_catalog.int8send(:claim::bigint) ||
pg_catalog.convert_to(:recipient::text, 'UTF8')) FROM 1 FOR 8) END
FROM tried ON CONFLICT DO NOTHING

-- hold_copies: the state is not a condition: PostgreSQL would use the index of copies that are not stored, which is
-- full of dead rows. Assigns the transaction id that settling needs anyway: commit_siblings counts only transactions
-- that have one
SELECT c.state, pg_catalog.pg_current_xact_id() FROM @schema@.message m JOIN @schema@.copy c
ON c.message = m.id AND c.account = ANY (:accounts::text[]) AND c.mailbox = ANY (:mailboxes::text[])
WHERE m.identity = :identity AND m.digest = :digest AND c.claim = :claim::bigint
