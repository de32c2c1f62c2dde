-- oncedrop schema, version 2: accounts whose login an IMAP server refused.

CREATE TABLE IF NOT EXISTS refusal (
    id         CHAR(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY COMMENT 'A hash of server and account',
    server     VARCHAR(700) NOT NULL COMMENT 'Host and port, or path, the user that logs in, and when imap.password_file was written',
    account    VARBINARY(512) NOT NULL COMMENT 'IMAP account',
    refusals   BIGINT NOT NULL COMMENT 'How many in a row; 0: a login has succeeded since',
    refused_at DATETIME(6) NOT NULL COMMENT 'When the last one was',
    wait_ms    BIGINT NOT NULL COMMENT 'For how long after that the account is not tried, in milliseconds',
    reason     VARCHAR(1000) NOT NULL COMMENT 'What the server said'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Accounts whose login an IMAP server refused, so that they are not tried with each message';

EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    GRANT SELECT, INSERT, UPDATE ON refusal TO oncedrop_delivery;
    GRANT SELECT, INSERT, UPDATE, DELETE ON refusal TO oncedrop_operator;
END';
