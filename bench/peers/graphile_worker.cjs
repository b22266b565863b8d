/*
 * Installs graphile-worker's schema into the database of the URL given, and prints the statements with which the
 * installed package claims and completes, taken from its own calls.
 */
const path = require("node:path");
const { createRequire } = require("node:module");

const [url, batches] = [process.argv[2], process.argv[3].split(",").map(Number)];
const installed = createRequire(path.join(process.cwd(), "package.json"));
const root = path.dirname(path.dirname(installed.resolve("graphile-worker")));
const { makeWorkerUtils } = installed("graphile-worker");
const { batchGetJobs } = require(path.join(root, "dist/sql/getJobs.js"));
const { batchCompleteJobs } = require(path.join(root, "dist/sql/completeJobs.js"));
const { cleanup } = require(path.join(root, "dist/cleanup.js"));
const { Client } = installed("pg");

const options = {
  workerSchema: "graphile_worker",
  escapedWorkerSchema: "graphile_worker",
  resolvedPreset: { worker: { preparedStatements: true, useNodeTime: false } },
  logger: console,
};

async function main() {
  const utils = await makeWorkerUtils({ connectionString: url });
  await utils.migrate();

  const client = new Client(url);
  await client.connect();
  let said;
  const listening = {
    query: (query, values) => {
      said = { text: query.text ?? query, values: query.values ?? values };
      return client.query(query, values);
    },
  };
  const withPgClient = (use) => use(listening);
  withPgClient.withRetries = withPgClient;

  const statements = { claim: {}, complete: {} };
  for (const batch of batches) {
    for (let n = 0; n < batch; n++) await utils.addJob("bench", {});
    const jobs = await batchGetJobs(options, withPgClient, { bench: true }, "worker", null, batch);
    statements.claim[batch] = said.text;
    statements.task_id = said.values[1][0];
    await batchCompleteJobs(options, withPgClient, "worker", jobs);
    statements.complete[batch] = said.text;
  }
  await cleanup({ ...options, withPgClient }, { tasks: ["DELETE_PERMAFAILED_JOBS"] });
  statements.purge = said.text;

  await client.end();
  await utils.release();
  statements.version = require(path.join(root, "package.json")).version;
  console.log(JSON.stringify(statements));
}

main();
