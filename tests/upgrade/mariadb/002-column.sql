-- oncedrop's ledger in MariaDB, version 2, in tests: the column that base.sed has removed. Every statement can be executed again.

ALTER TABLE copy
    ADD COLUMN IF NOT EXISTS host_us BIGINT COMMENT 'By how many microseconds the clock of the database was ahead of the wall clock of that host at the claim';

EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    GRANT SELECT (host_us) ON copy TO oncedrop_delivery;
END';
