// A scheduler's command line as far as apply needs it: jobs in a JSON file, faults on demand.
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const file = process.env.SCHEDULER_DB;
const faults = (process.env.FAKE_FAULTS ?? "").split(",");
const state = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { jobs: [], calls: [] };
const [json, group, action, ...rest] = process.argv.slice(2);
state.calls.push([json, group, action, ...rest.map((text) => text.slice(0, 40))]);

function finish(answer) {
  writeFileSync(file, JSON.stringify(state));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

function fail(message) {
  writeFileSync(file, JSON.stringify(state));
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** Rows as a table with more columns answers them. */
function columns() {
  return Object.fromEntries(process.env.FAKE_COLUMNS.split(",").map((name) => [name, null]));
}

/** As the real one: an exception that nobody catches. */
function checkJob({ schedule_cron: cron, schedule_tz: zone = "UTC" }) {
  if (cron && cron.split(" ").length !== 5) throw new TypeError(`CronPattern: invalid: ${cron}`);
  new Intl.DateTimeFormat("en", { timeZone: zone });
}

const command = group === "capabilities" ? group : action;
if (faults.includes(`refused-${command}`)) {
  process.stdout.write(`${JSON.stringify({ ok: false, error: `${command} is refused` })}\n`);
  process.exit(0);
}
if (faults.includes(command)) fail(`no ${command} today`);
if (faults.includes(`thrown-${command}`)) throw new Error(`${command} has thrown`);
switch (command) {
  case "capabilities":
    finish({
      scheduler_version: "0.2.4",
      schema_version: 23,
      handoff_version: process.env.FAKE_HANDOFF ?? "2",
      features: {
        authorization_hook: !faults.includes("authorization_hook"),
        evidence_generation: true,
        credential_handoff: true,
        trust_evaluation: true,
        authorization_proof_verification: !faults.includes("proofs"),
      },
    });
    break;
  case "list":
    finish(state.jobs);
    break;
  case "validate":
    if (faults.includes("no-validate")) process.stdout.write("Usage: openclaw-scheduler\n");
    else {
      checkJob(JSON.parse(rest[0]));
      finish({ ok: true, valid: true });
    }
    break;
  case "add": {
    const job = JSON.parse(rest[0]);
    checkJob(job);
    if (job.parent_id && !state.jobs.some(({ id }) => id === job.parent_id)) {
      fail(`parent job does not exist: ${job.parent_id}`);
    }
    state.jobs.push(process.env.FAKE_COLUMNS ? { ...columns(), ...job } : job);
    finish({ ok: true, job });
    break;
  }
  case "update": {
    const job = state.jobs.find(({ id }) => id === rest[0]);
    Object.assign(job, JSON.parse(rest[1]));
    finish({ ok: true, job });
    break;
  }
  case "delete":
    state.jobs = state.jobs.filter(({ id }) => id !== rest[0]);
    finish({ ok: true, job_id: rest[0], deleted: true });
    break;
  default:
    fail(`unknown command ${group} ${action}`);
}
