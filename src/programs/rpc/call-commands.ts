/** The commands of `agtp-rpc`, each of which calls one method. */
import { given, type JsonRecord } from "../../base/json-value.ts";
import {
  type ArgumentTable,
  type Command,
  command,
  type Line,
  type OptionTable,
} from "../shell/command.ts";
import { type CallLine, runCall } from "./run-call.ts";

/** The options for the output's form, although every command prints JSON anyway. */
const FORM_OPTIONS = {
  "--json": "print JSON, as is done anyway",
  "--ndjson": "print items one a line",
} as const;

type None = Readonly<Record<never, never>>;

interface Call<A extends ArgumentTable, O extends OptionTable> {
  readonly name: string;
  readonly description: string;
  readonly args?: A;
  readonly options?: O;
  readonly method: string;
  readonly params?: (line: Line<A, O>) => JsonRecord;
  /** The member of the result that an option's file receives. */
  readonly write?: (line: Line<A, O>) => CallLine["write"];
}

function call<const A extends ArgumentTable = None, const O extends OptionTable = None>(
  declaration: Call<A, O>,
): Command {
  const { name, description, method, params, write } = declaration;
  const args: ArgumentTable = declaration.args ?? {};
  const options: OptionTable = { ...FORM_OPTIONS, ...declaration.options };
  return command({
    ...{ name, description, args, options },
    run: (written, terminal) => {
      const line = written as Line<A, O> & Line<{ "[manifest]": "" }, typeof FORM_OPTIONS>;
      const file = write?.(line);
      return runCall(
        {
          method,
          params: params === undefined ? {} : given(params(line)),
          ...given({ manifest: line.manifest, write: file }),
          isNdjson: line.ndjson === true,
        },
        terminal,
      );
    },
  });
}

const MANIFEST = { "<manifest>": "" } as const;

const PLAIN_COMMANDS: readonly Command[] = [
  call({
    name: "version",
    description: "versions of the program and of the manifest",
    method: "agentcli.version",
  }),
  call({
    name: "targets",
    description: "what a manifest compiles to",
    method: "agentcli.targets",
  }),
  call({
    name: "schema",
    description: "a schema; target: manifest, workflow, task, …",
    args: { "[target]": "" },
    options: { "--legacy": "the descriptors of old instead of JSON Schema" },
    method: "agentcli.schema",
    params: ({ target, legacy }) => ({ target, legacy }),
  }),
  call({
    name: "describe",
    description: "what things are; target: commands, targets, rpc, …",
    args: { "[target]": "" },
    method: "agentcli.describe",
    params: ({ target }) => ({ target }),
  }),
];

const MANIFEST_COMMANDS: readonly Command[] = [
  call({
    name: "validate",
    description: "the verdict on a manifest",
    args: MANIFEST,
    method: "agentcli.validate",
  }),
  call({
    name: "compile",
    description: "compile to a target",
    args: MANIFEST,
    options: {
      "--target <name>": {
        help: "standalone, openclaw-scheduler or agtp",
        words: ["standalone", "openclaw-scheduler", "agtp"],
      },
      "--explain": "say of each task what becomes of it",
      "--write <file>": "write the artifact to a file in this directory",
    },
    method: "agentcli.compile",
    params: ({ target, explain }) => ({ target, explain }),
    write: ({ write: file }) => (file === undefined ? undefined : { member: "output", file }),
  }),
  call({
    name: "convert",
    description: "from version 0.1 to 0.2",
    args: MANIFEST,
    options: { "--output <file>": "write the manifest to a file in this directory" },
    method: "agentcli.convert",
    write: ({ output: file }) => (file === undefined ? undefined : { member: "manifest", file }),
  }),
];

const PROOF_COMMAND = {
  "--allow-proof-command": "run the commands that proofs come from",
} as const;

const SCHEDULER_COMMANDS: readonly Command[] = [
  call({
    name: "apply",
    description: "create, update or adopt the jobs of a scheduler",
    args: MANIFEST,
    options: {
      "--db <file>": "the scheduler's database",
      "--scheduler-prefix <dir>": "npm prefix that the scheduler is installed in",
      "--scheduler-bin <file>": "the scheduler's program",
      "--dry-run": "write nothing",
      "--explain": "say of each task what becomes of it",
      "--adopt-by <how>": { help: "id or name", default: "id", words: ["id", "name"] },
      "--strict": "refuse what the scheduler has no column for",
      ...PROOF_COMMAND,
    },
    method: "agentcli.apply",
    params: ({ db: dbPath, schedulerPrefix, schedulerBin, dryRun, explain, ...others }) => {
      const { adoptBy, strict, allowProofCommand } = others;
      const scheduler = { dbPath, schedulerPrefix, schedulerBin };
      return { ...scheduler, dryRun, explain, adoptBy, strict, allowProofCommand };
    },
  }),
  call({
    name: "inspect",
    description: "rows of jobs, runs, queue or approvals",
    args: { "[entity]": { help: "", words: ["jobs", "runs", "queue", "approvals"] } },
    options: {
      "--db <file>": "the scheduler's database",
      "--fields <names>": "only these, comma-separated; a.b reaches into JSON",
      "--limit <n>": "so many at most; 20 unless told",
      "--sanitize <mode>": { help: "none or basic", default: "none", words: ["none", "basic"] },
    },
    method: "agentcli.inspect",
    params: ({ entity, db: dbPath, fields, limit, sanitize }) => {
      return { entity, dbPath, fields, limit, sanitize };
    },
  }),
];

const WORKFLOW = { "--workflow <id>": "the task's workflow, where there are several" } as const;

function taskCall(name: string, method: string, description: string): Command {
  return call({
    ...{ name, method, description },
    args: { ...MANIFEST, "<task>": "" },
    options: WORKFLOW,
    params: ({ task: taskId, workflow: workflowId }) => ({ taskId, workflowId }),
  });
}

function group(
  name: string,
  prefix: string,
  kind: "provider" | "method",
  more: readonly Command[] = [],
): Command {
  const list = `${kind}s`;
  return {
    name,
    description: `${list} of ${name}, and what they can do`,
    commands: [
      call({ name: list, description: "list them", method: `${prefix}.${list}` }),
      call({
        name: "schema",
        description: "what one of them can do",
        args: { [`<${kind}>`]: "" },
        method: `${prefix}.schema`,
        params: (line: Partial<Record<typeof kind, string>>) => ({ [kind]: line[kind] }),
      }),
      ...more,
    ],
  };
}

const GROUPS: readonly Command[] = [
  group("identity", "agentcli.identity", "provider", [
    taskCall("resolve", "agentcli.identity.resolve", "the identity that a task acts under"),
    taskCall("validate-delegation", "agentcli.identity.validateDelegation", "who stands behind it"),
  ]),
  group("authorization-proof", "agentcli.authorizationProof", "method", [
    call({
      name: "verify",
      description: "whether the proof behind a task holds",
      args: { ...MANIFEST, "<task>": "" },
      options: { ...WORKFLOW, ...PROOF_COMMAND },
      method: "agentcli.authorizationProof.verify",
      params: ({ task: taskId, workflow: workflowId, allowProofCommand }) => {
        return { taskId, workflowId, allowProofCommand };
      },
    }),
  ]),
  group("authorization", "agentcli.authorization", "provider", [
    taskCall("evaluate", "agentcli.authorization.evaluate", "whether a task may run"),
  ]),
  group("evidence", "agentcli.evidence", "provider"),
];

export const CALL_COMMANDS: readonly Command[] = [
  ...PLAIN_COMMANDS,
  ...MANIFEST_COMMANDS,
  ...SCHEDULER_COMMANDS,
  ...GROUPS,
];
