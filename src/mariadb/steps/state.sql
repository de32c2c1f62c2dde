-- state_message:
SELECT lock_method, (SELECT @us(received_at)@ DIV 1000000 FROM message WHERE identity = :identity AND digest = :digest)
FROM setting WHERE one = 1
