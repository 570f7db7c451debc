/** Checks of the database of several nodes: its size, its bounds, and its users. */
import type { DatabaseSurvey, TableSize } from "../../../state/postgres/survey.ts";
import type { Check, Observation, Subject } from "../check.ts";
import { DEFAULT_AGE } from "../machine.ts";

const MEBIBYTE = 1024 * 1024;
const LARGE = 1024 * MEBIBYTE;
/** The tables that the size report lists by name. */
const NAMED: readonly string[] = ["records", "entries", "changes"];
/** Autovacuum starts at a fifth of a table. */
const MANY_DEAD = 10_000;
/** Longer than any transaction of the daemons. */
const LONG_MS = 60_000;

/** The checks, in the order in which they run. */
export const DATABASE_CHECKS: readonly Check[] = [
  // The database is unbounded, dead rows are not vacuumed, or it cannot be examined.
  {
    id: "database-size",
    asks: "is the database kept within bounds?",
    look: (subject) => {
      const { database } = subject;
      if (database === undefined) return [];
      const { survey, fault } = database;
      if (fault !== undefined) throw new Error(`store.${fault.key}: ${fault.message}`);
      if (survey.tables.length === 0) return [];
      return [
        sizeOf(subject, survey),
        ...survey.tables
          .filter(({ rows, deadRows: dead }) => dead >= MANY_DEAD && dead > rows)
          .map((table) => deadRows(subject, survey, table)),
        ...heldUp(subject, survey),
        ...unreadable(subject, survey),
      ];
    },
  },
  // A node is silent, or nodes run different builds.
  {
    id: "nodes",
    asks: "do all nodes of the deployment live?",
    look: (subject) => {
      const { nodes: all = [] } = subject.database?.survey ?? {};
      const silent = all.filter(({ isLive }) => !isLive);
      const versions = new Set(all.flatMap(({ isLive, version }) => (isLive ? [version] : [])));
      const place = placeOf(subject);
      const found = silent.map(({ node, address, silentMs }): Observation => {
        const message = `node ${node} at ${address} was last heard of ${Math.round(silentMs / 1_000)} s ago`;
        const hint = "see why, and start it again; one that is silent for an hour is forgotten";
        return { ...place, severity: "warning", message, hint };
      });
      if (versions.size < 2) return found;
      const message = `nodes of versions ${[...versions].join(" and ")} serve side by side`;
      const hint = "end those of the older one: it need not understand what a newer one writes";
      return [...found, { ...place, severity: "note" as const, message, hint }];
    },
  },
];

function sizeOf(subject: Subject, survey: DatabaseSurvey): Observation {
  const { tables, dueShare } = survey;
  const { retention } = subject.config.attribution;
  const total = sum(tables);
  const parts = NAMED.map((name) => {
    const table = tables.find((one) => one.name === name);
    const { bytes = 0, rows = 0 } = table ?? {};
    return `${name} ${inMib(bytes)} (${percent(bytes, total)}, about ${rows} rows)`;
  });
  const rest = sum(tables.filter(({ name }) => !NAMED.includes(name)));
  const message = `has ${inMib(total)}: ${parts.join(", ")}, everything else ${inMib(rest)}`;
  const records = sum(tables.filter(({ name }) => name === "records"));
  const due = dueShare === undefined ? "" : inMib(dueShare * records);
  if (retention !== undefined) {
    const now = due === "" ? "" : `: about ${due} of the records are due now`;
    const hint = `nothing: [attribution.retention] bounds the records${now}`;
    return { ...placeOf(subject), severity: "note", message, hint };
  }
  const would = due === "" ? "" : `; ${DEFAULT_AGE} days would take about ${due} of them now`;
  const hint = `set days or bytes under [attribution.retention], or records stay for good${would}`;
  return { ...placeOf(subject), severity: records < LARGE ? "note" : "warning", message, hint };
}

function deadRows(subject: Subject, { schema }: DatabaseSurvey, table: TableSize): Observation {
  const { name, rows, deadRows: dead, vacuumedAt } = table;
  const last = vacuumedAt === undefined ? "never" : new Date(vacuumedAt).toISOString();
  const message = `table ${name} has about ${rows} rows and ${dead} that are gone, whose room nothing can use (vacuumed: ${last})`;
  const hint = `see that autovacuum is on and no transaction stays open for hours; VACUUM ${schema}.${name} does it now`;
  return { ...placeOf(subject), severity: "warning", message, hint };
}

function heldUp(subject: Subject, { heldUpMs }: DatabaseSurvey): readonly Observation[] {
  if (heldUpMs < LONG_MS) return [];
  const message = `a transaction that writes has been open on the server for ${Math.round(heldUpMs / 1_000)} s or longer: retention cuts nothing, and a revocation takes a lease`;
  const hint =
    "SELECT pid, datname, usename, xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL ORDER BY xact_start, as a superuser, names it; so does pg_prepared_xacts";
  return [{ ...placeOf(subject), severity: "warning", message, hint }];
}

function unreadable(subject: Subject, { schema, role, unreadable: names }: DatabaseSurvey) {
  if (names.length === 0) return [];
  const message = `role ${role} may not read ${names.join(", ")}: nodes, and what retention would free, are not looked at`;
  const hint = `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`;
  return [{ ...placeOf(subject), severity: "warning" as const, message, hint }];
}

function placeOf({ configFile }: Subject): Pick<Observation, "file" | "key"> {
  return { file: configFile, key: "store.url" };
}

function sum(tables: readonly TableSize[]): number {
  return tables.reduce((all, { bytes }) => all + bytes, 0);
}

function inMib(octets: number): string {
  return `${(octets / MEBIBYTE).toFixed(octets < 10 * MEBIBYTE ? 1 : 0)} MiB`;
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round((100 * part) / whole)} %`;
}
