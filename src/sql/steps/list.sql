-- list: copies, newest first. Each value is a filter, whose condition is present only if it is set, so that an index
-- can be used. Postfix's time has whole seconds
-- params: state unfinished since_ms since until_ms until recipient sender mailbox subject:content message_id queue_id delay_ms limit
-- columns: at state queue_id account delay:number mailbox subject from sender message_id uid role recipients generation error

-- totals: counts, in one row
-- columns: messages bytes stored pending appending failed expired unfinished oldest_unfinished duplicates

-- hours: a row for each recent hour in which a copy was stored in a recipient's mailbox
-- params: hours
-- columns: hour stored bytes retried p50:number p95:number p99:number
