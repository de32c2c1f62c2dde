#!/usr/bin/node
// SPDX-License-Identifier: ISC
//
// feed-ticket.py in JavaScript: makes a ticket of each message of a feed, exactly once, in the ledger's PostgreSQL database. It
// needs node-pg (npm: pg), and what is at the beginning of feed-ticket.py.
//
//     feed-ticket.js CONNECTION FEED
//
// CONNECTION is such as postgresql://helpdesk:PASSWORD@localhost/oncedrop. It ends when the connection is lost; let systemd start
// it again. Several may run at the same time.

const { Client } = require('pg');

const [connectionString, feed] = process.argv.slice(2);
const TAKE = `SELECT id FROM oncedrop.waiting WHERE feed = $1 AND dead = FALSE AND due ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`;
const TICKET = `INSERT INTO public.ticket (subject, sender) SELECT subject, coalesce("from", sender)
                  FROM oncedrop.waiting_message WHERE id = $1`;
const DONE = `DELETE FROM oncedrop.waiting WHERE id = $1`;
const LATER = `UPDATE oncedrop.waiting SET not_before = now() + interval '1 hour', tries = tries + 1, error = $2 WHERE id = $1`;

async function main() {
  const client = new Client({ connectionString });
  client.on('error', (error) => { throw error; });
  await client.connect();
  for (;;) {
    await client.query('BEGIN');
    const { rows } = await client.query(TAKE, [feed]);
    try {
      for (const { id } of rows) {
        await client.query(TICKET, [id]);
        await client.query(DONE, [id]);
      }
    } catch (error) {
      // Class 22 and 23: the table refuses this ticket. The others do not wait for it.
      if (!/^2[23]/.test(error.code)) throw error;
      await client.query('ROLLBACK');
      await client.query(LATER, [rows[0].id, error.message]);
    }
    await client.query('COMMIT');   // the ticket is there, and the row is not: both or neither
    if (rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

main();
