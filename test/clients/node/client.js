// node-postgres calls bulk_load: parameters, the row, notices, errors, stdin.
//
// Connects as the environment says (PGHOST ...) to a database that has the
// extension.  The last line is "N passed, N failed".
'use strict';

const { isDeepStrictEqual } = require('util');
const { pipeline } = require('stream/promises');
const { Readable } = require('stream');
const { Client } = require('pg');
const { from: copyFrom } = require('pg-copy-streams');

let passed = 0;
let failed = 0;

function check(name, got, expected) {
  if (isDeepStrictEqual(got, expected)) {
    passed++;
  } else {
    failed++;
    console.log(`failed: ${name}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
  }
}

async function stateOf(promise) {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error.code;
  }
}

function* lines(n) {
  for (let i = 0; i < n; i++) yield `${i},line ${i}\n`;
}

async function main() {
  const client = new Client();
  const notices = [];
  client.on('notice', (notice) => notices.push(notice));
  await client.connect();
  await client.query('DROP TABLE IF EXISTS node_t, node_log');
  await client.query('CREATE TABLE node_t (a int, b text)');
  await client.query('CREATE TABLE node_log (loaded bigint, read bigint)');
  const path = (await client.query('SHOW data_directory')).rows[0].data_directory + '/node.csv';
  await client.query(`COPY (VALUES ('1', 'one'), ('N/A', 'two'), ('3', 'thr\u00e9\u00e9')) TO '${path}' (FORMAT csv)`);
  notices.length = 0;

  const call = 'SELECT * FROM bulk_load($1, $2, $3)';
  const row = (await client.query(call, ['node_t', path, { on_error: 'ignore', encoding: 'UTF8' }])).rows[0];
  check('counters', [row.rows_read, row.rows_loaded, row.rows_rejected, row.workers], ['3', '2', '1', 0]);
  check('details', row.details.files, [path]);
  check('notices', notices.map((notice) => notice.message), ['1 row was rejected',
    `1 row: invalid input syntax for type integer in column "a", for example at file "${path}", line 2: "N/A"`]);
  check('hint', notices[1] && notices[1].hint, 'With {"null": ["", "N/A"]} among the options they can be read. In text columns these words then become null, too.');
  check('rows', (await client.query('SELECT a, b FROM node_t ORDER BY a')).rows,
    [{ a: 1, b: 'one' }, { a: 3, b: 'thr\u00e9\u00e9' }]);

  const several = await client.query({
    name: 'several',
    text: 'SELECT rows_loaded FROM bulk_load($1, $2::text[], $3)',
    values: ['node_t', [path, path], { null: ['N/A'], truncate: true }],
  });
  check('several files', several.rows, [{ rows_loaded: '6' }]);
  check('bad option', await stateOf(client.query(call, ['node_t', path, { trunc: true }])), '22023');

  const insert = "INSERT INTO node_log SELECT rows_loaded, rows_read FROM bulk_load('node_t', 'stdin', '{\"truncate\": true}')";
  await pipeline(Readable.from(lines(1000)), client.query(copyFrom(insert)));
  check('stdin', (await client.query('SELECT * FROM node_log')).rows, [{ loaded: '1000', read: '1000' }]);
  check('stdin rows', (await client.query('SELECT count(*), sum(a) FROM node_t')).rows, [{ count: '1000', sum: '499500' }]);
  check('stdin error', await stateOf(pipeline(Readable.from(['1,a\n', 'x,b\n']), client.query(copyFrom(insert)))), '22P02');
  check('nothing of it', (await client.query('SELECT count(*) FROM node_t')).rows, [{ count: '1000' }]);

  await client.query('TRUNCATE node_t; SET pgbulk.copy = on; SET pgbulk.copy_min_size = 0');
  const plain = 'COPY node_t FROM STDIN (FORMAT csv)';
  const stands = 'SELECT count(*), sum(a) FROM node_t';
  await pipeline(Readable.from(lines(1000)), client.query(copyFrom(plain)));
  check('plain COPY', (await client.query(stands)).rows, [{ count: '1000', sum: '499500' }]);
  const error = await pipeline(Readable.from(['1,a\n', 'x,b\n']), client.query(copyFrom(plain))).catch((e) => e);
  check('plain COPY, error', [error.code, error.where], ['22P02', 'COPY node_t, line 2, column a: "x"']);
  const broken = Readable.from((function* () { yield* lines(1000); throw new Error('given up'); })());
  check('plain COPY, given up', await stateOf(pipeline(broken, client.query(copyFrom(plain)))), undefined);
  check('nothing of either', (await client.query(stands)).rows, [{ count: '1000', sum: '499500' }]);
  check('plain COPY is taken', (await client.query("SELECT count FROM bulk_load_statements WHERE statement = 'COPY FROM' AND taken")).rows, [{ count: '3' }]);
  await client.query('DROP TABLE node_t, node_log');
  await client.end();
}

main().catch((error) => {
  failed++;
  console.log(error);
}).then(() => {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
});
