-- macro path_key: a part's path, with each number in five digits, so that it sorts by number
(WITH RECURSIVE numbers(key, rest) AS (SELECT '', path || '.' UNION ALL
SELECT key || substr('0000' || substr(rest, 1, instr(rest, '.') - 1), -5), substr(rest, instr(rest, '.') + 1)
FROM numbers WHERE rest <> '') SELECT key FROM numbers WHERE rest = '')
