-- oncedrop schema, version 11: no operator or function of others runs in what the schema contains.

-- Resolved anew, under the search_path of this upgrade: that of an earlier one may have had other schemas first.
ALTER FUNCTION @schema@.forget_tally() SET search_path = pg_catalog, pg_temp;
