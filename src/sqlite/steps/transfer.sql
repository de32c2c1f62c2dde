-- macro last: the highest id that a table has assigned
max((SELECT coalesce(max(id), 0) FROM @schema@.{}),
coalesce((SELECT seq FROM @schema@.sqlite_sequence WHERE name = '{}'), 0))

-- load_numbers:
DELETE FROM @schema@.sqlite_sequence WHERE name IN ('message', 'delivery', 'copy', 'feed')
-- then
INSERT INTO @schema@.sqlite_sequence (name, seq) VALUES ('message', :message), ('delivery', :delivery), ('copy', :copy),
('feed', :feed)

-- begin_hold: no other session may write
BEGIN IMMEDIATE
