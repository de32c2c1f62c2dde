-- near: ids with the longest common beginning are neighbours in sort order. With the newest, these are few enough to
-- compare one by one, however large the ledger is
(SELECT message_id FROM @schema@.message WHERE "left"(message_id, 200) COLLATE "C" >= "left"(:message_id, 200)
ORDER BY "left"(message_id, 200) COLLATE "C" LIMIT 20) UNION
(SELECT message_id FROM @schema@.message WHERE "left"(message_id, 200) COLLATE "C" < "left"(:message_id, 200)
ORDER BY "left"(message_id, 200) COLLATE "C" DESC LIMIT 20) UNION
(SELECT message_id FROM (SELECT message_id FROM @schema@.message ORDER BY id DESC LIMIT 2000) AS newest
WHERE message_id IS NOT NULL)

-- oldest:
SELECT @utc(received_at)@ AS received_at FROM @schema@.message
ORDER BY message.received_at LIMIT 1
