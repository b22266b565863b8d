/*
 * Installs pg-boss's schema into the database of the URL given, and prints the statements with which the installed
 * package claims, completes and purges, taken from its own calls.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [url, batches] = [process.argv[2], process.argv[3].split(",").map(Number)];
const installed = createRequire(path.join(process.cwd(), "package.json"));
const root = path.dirname(path.dirname(installed.resolve("pg-boss")));
const { PgBoss } = await import(pathToFileURL(path.join(root, "dist/index.js")));
const plans = await import(pathToFileURL(path.join(root, "dist/plans.js")));

const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
boss.on("error", (error) => {
  throw error;
});
await boss.start();
await boss.createQueue("bench");

let said;
const database = boss.getDb();
const listening = {
  executeSql: (text, values) => {
    said = text;
    return database.executeSql(text, values);
  },
};

const statements = { claim: {}, complete: {} };
for (const batch of batches) {
  for (let n = 0; n < batch; n++) await boss.send("bench", {});
  const jobs = await boss.fetch("bench", { batchSize: batch, db: listening });
  statements.claim[batch] = said;
  /* Jobs, not ids: as its own workers do it, fenced to the attempt. */
  await boss.complete("bench", jobs, null, { db: listening });
  statements.complete[batch] = said;
}
/* As its maintenance calls it. ":after" stands for the key that the batch before ended at. */
const retention = (after) => plans.deletion("pgboss", "job_common", "bench", { after, retainedBefore: Date.now() });
statements.purge_first = retention(undefined);
statements.purge_next = retention(":after");
statements.version = JSON.parse(readFileSync(path.join(root, "package.json"))).version;
await boss.stop({ graceful: false });
console.log(JSON.stringify(statements));
