-- oncedrop's ledger in MariaDB, version 3: the clocks by which a claim was made, so that no jump of one of them ends its
-- hold-off early.

ALTER TABLE copy
    ADD COLUMN IF NOT EXISTS boot BIGINT COMMENT 'Number of that run of the machine that claimed it, from its boot_id; NULL: unknown',
    ADD COLUMN IF NOT EXISTS boot_us BIGINT COMMENT 'By how many microseconds the clock of the database was ahead of CLOCK_BOOTTIME of that machine at the claim',
    ADD COLUMN IF NOT EXISTS host_us BIGINT COMMENT 'By how many microseconds the clock of the database was ahead of the wall clock of that host at the claim';

EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    GRANT SELECT (boot, boot_us, host_us) ON copy TO oncedrop_delivery;
END';
