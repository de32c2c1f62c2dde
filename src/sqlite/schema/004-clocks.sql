-- oncedrop's ledger in SQLite, version 4: the clocks by which a claim was made, so that no jump of one of them ends its hold-off
-- early. boot: number of that run of the machine, from its boot_id; boot_us, host_us: by how many microseconds the ledger's
-- clock was ahead of CLOCK_BOOTTIME, and of the host's clock.

ALTER TABLE @schema@.copy ADD COLUMN boot INTEGER;
ALTER TABLE @schema@.copy ADD COLUMN boot_us INTEGER;
ALTER TABLE @schema@.copy ADD COLUMN host_us INTEGER;
