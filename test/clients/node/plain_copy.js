// COPY as postgres.js and pg-copy-streams send it has the same outcome with pgbulk.copy as without: good and bad rows,
// given up and cancelled in the middle, a connection lost there.
//
// Connects as the environment says (PGHOST ...), as a superuser, to a database that has the extension.  The last line is
// "N passed, N failed".
'use strict';

const { pipeline } = require('stream/promises');
const { Readable } = require('stream');
const postgres = require('postgres');
const { Client } = require('pg');
const { from: copyFrom } = require('pg-copy-streams');

const GOOD = Array.from({ length: 5000 }, (_, i) => `${i},line ${i} \u00e9,${i / 4}\n`);
const COPY = 'COPY node_t FROM STDIN (FORMAT csv)';
const STANDS = 'SELECT concat_ws(\' \', count(*), sum(hashtextextended(t::text, 0)::numeric), count(b)) AS answer FROM node_t t';
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// Each driver: a session that runs queries, gives the stream of a COPY, and knows its socket.
const drivers = {
  async postgresjs() {
    const sql = postgres({ max: 1, onnotice() {}, ssl: process.env.PGSSLMODE ?? false });
    return {
      ask: async (query) => (await sql.unsafe(query)).at(-1)?.answer,
      stream: () => sql.unsafe(COPY).writable(),
      end: () => sql.end({ timeout: 1 }),
    };
  },
  async pgcopystreams() {
    const client = new Client();
    client.on('error', () => {});
    await client.connect();
    return {
      ask: async (query) => (await client.query(query)).rows?.at(-1)?.answer,
      stream: async () => client.query(copyFrom(COPY)),
      end: () => client.end(),
      lose: () => client.connection.stream.destroy(),
    };
  },
};

// What an error says; how a driver tells of a lost connection depends on when it sees that.
const told = (promise) => promise.then(() => 'no error', (error) =>
  (error.code === '57014' ? error.code : [error.code, error.message, error.detail, error.where].join('; ')));

const send = async (session, source) => pipeline(Readable.from(source), await session.stream());

async function* withPause(done) {
  yield* GOOD;
  await done();
  await wait(200);
  yield* GOOD;
}

// name -> what is done by the session, with its process and another session; each begins with an empty table
const cases = {
  good: (s) => told(send(s, GOOD)),
  none: (s) => told(send(s, [])),
  'at once': (s) => told(send(s, [GOOD.join('')])),
  bad: (s) => told(send(s, [...GOOD, 'x,line,1\n', ...GOOD])),
  'too few columns': (s) => told(send(s, [...GOOD, '1\n'])),
  'bad, and on': async (s) => [await told(send(s, ['x,1,1\n'])), await told(send(s, GOOD))].join(', '),
  'given up': (s) => told(send(s, (function* () { yield* GOOD; throw new Error('given up'); })())),
  cancelled: (s, pid, other) => told(send(s, withPause(() => other.ask(`SELECT pg_cancel_backend(${pid})`)))),
  async lost(s, pid, other) {
    const end = s.lose || (() => other.ask(`SELECT pg_terminate_backend(${pid})`));
    const result = await Promise.race([told(send(s, withPause(end))), wait(2000)]);
    for (let i = 0; i < 500 && await other.ask(`SELECT count(*) AS answer FROM pg_stat_activity WHERE pid = ${pid}`) !== '0'; i++) await wait(20);
    return `${result !== 'no error'} ${await other.ask(`SELECT count(*) AS answer FROM pg_stat_activity WHERE pid = ${pid}`)}`;
  },
};

// postgres.js waits forever for a COPY whose error comes after the last data, with the setting as without.
const errors = ['bad', 'too few columns', 'bad, and on'];

// What the driver says, what then stands in the table, and whether COPY was taken.
async function outcome(driver, name, mode) {
  const other = await drivers.pgcopystreams();
  await other.ask('DROP TABLE IF EXISTS node_t');
  await other.ask('CREATE TABLE node_t (a int, b text, c float8)');
  const session = await drivers[driver]();
  await session.ask("LOAD 'pgbulk'");
  await session.ask(`SET pgbulk.copy = ${mode}`);
  await session.ask('SET pgbulk.copy_min_size = 0');
  const pid = await session.ask('SELECT pg_backend_pid() AS answer');
  const result = await cases[name](session, pid, other);
  const taken = name === 'lost' ? '1' :
    await session.ask("SELECT count(*) AS answer FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken");
  const stands = await other.ask(STANDS);
  await session.end().catch(() => {});
  await other.end();
  return [`${result} ${stands}`, taken !== '0'];
}

async function main() {
  let passed = 0;
  let failed = 0;
  process.on('unhandledRejection', () => {});    // a driver's own, of a connection that is lost
  for (const driver of Object.keys(drivers)) {
    for (const name of Object.keys(cases)) {
      if (driver === 'postgresjs' && errors.includes(name)) continue;
      const [expected] = await outcome(driver, name, 'off');
      for (const mode of ['on', 'exclusive']) {
        const [got, taken] = await outcome(driver, name, mode);
        if (got === expected && taken) {
          passed++;
        } else {
          failed++;
          console.log(`failed: ${driver}, ${name}, ${mode}: got ${got}, expected ${expected}, taken ${taken}`);
        }
      }
    }
  }
  const client = await drivers.pgcopystreams();
  await client.ask('DROP TABLE node_t');
  await client.end();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed > 0 ? 1 : 0);
}

main();
