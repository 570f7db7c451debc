/** The commands of `agtp-rpc`, each as the call of the method that it stands for. */
import type { Command } from "commander";
import type { JsonRecord } from "../../base/json-value.ts";

/** One call. */
export interface CallLine {
  readonly kind: "call";
  readonly method: string;
  readonly params: JsonRecord;
  /** Where the manifest comes from, for methods that take one. */
  readonly manifest?: string;
  /** The member of the result that is written to a file, and the file. */
  readonly write?: { readonly member: string; readonly file: string };
  readonly isNdjson: boolean;
}

type Add = (call: CallLine) => void;

/** Adds all commands. */
export function addCommands(root: Command, add: Add): void {
  addPlain(root, add);
  addManifestCommands(root, add);
  addScheduler(root, add);
  addGovernance(root, add);
}

/** A sub-command; each prints JSON whether it is asked to or not. */
function sub(parent: Command, usage: string, description: string): Command {
  return parent
    .command(usage)
    .description(description)
    .option("--json", "print JSON, as is done anyway")
    .option("--ndjson", "print items one a line");
}

type Options = Readonly<Record<string, string | boolean | undefined>>;

function call(method: string, params: JsonRecord, options: Options): CallLine {
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  const isNdjson = options["ndjson"] === true;
  return { kind: "call", method, params: Object.fromEntries(given), isNdjson };
}

function addPlain(root: Command, add: Add): void {
  sub(root, "version", "versions of the program and of the manifest").action((options: Options) =>
    add(call("agentcli.version", {}, options)),
  );
  sub(root, "targets", "what a manifest compiles to").action((options: Options) =>
    add(call("targets", {}, options)),
  );
  sub(root, "schema [target]", "a schema; target: manifest, workflow, task, …")
    .option("--legacy", "the descriptors of old instead of JSON Schema")
    .action((target: string | undefined, options: Options) =>
      add(call("agentcli.schema", { target, legacy: options["legacy"] }, options)),
    );
  sub(root, "describe [target]", "what things are; target: commands, targets, rpc, …").action(
    (target: string | undefined, options: Options) =>
      add(call("agentcli.describe", { target }, options)),
  );
}

function addManifestCommands(root: Command, add: Add): void {
  sub(root, "validate <manifest>", "the verdict on a manifest").action(
    (manifest: string, options: Options) =>
      add({ ...call("agentcli.validate", {}, options), manifest }),
  );
  sub(root, "compile <manifest>", "compile to a target")
    .option("--target <name>", "standalone, openclaw-scheduler or agtp")
    .option("--explain", "say of each task what becomes of it")
    .option("--write <file>", "write the artifact to a file in this directory")
    .action((manifest: string, options: Options) => {
      const params = { target: options["target"], explain: options["explain"] };
      const line = { ...call("agentcli.compile", params, options), manifest };
      add(withFile(line, "output", options["write"]));
    });
  sub(root, "convert <manifest>", "from version 0.1 to 0.2")
    .option("--output <file>", "write the manifest to a file in this directory")
    .action((manifest: string, options: Options) => {
      const line = { ...call("agentcli.convert", {}, options), manifest };
      add(withFile(line, "manifest", options["output"]));
    });
}

function withFile(line: CallLine, member: string, file: string | boolean | undefined): CallLine {
  return typeof file === "string" ? { ...line, write: { member, file } } : line;
}

function addScheduler(root: Command, add: Add): void {
  sub(root, "apply <manifest>", "create, update or adopt the jobs of a scheduler")
    .option("--db <file>", "the scheduler's database")
    .option("--scheduler-prefix <dir>", "npm prefix that the scheduler is installed in")
    .option("--scheduler-bin <file>", "the scheduler's program")
    .option("--dry-run", "write nothing")
    .option("--explain", "say of each task what becomes of it")
    .option("--adopt-by <how>", "id or name", "id")
    .option("--strict", "refuse what the scheduler has no column for")
    .option("--allow-proof-command", "run the commands that proofs come from")
    .action((manifest: string, options: Options) => {
      const params = {
        dbPath: options["db"],
        schedulerPrefix: options["schedulerPrefix"],
        schedulerBin: options["schedulerBin"],
        dryRun: options["dryRun"],
        explain: options["explain"],
        adoptBy: options["adoptBy"],
        strict: options["strict"],
        allowProofCommand: options["allowProofCommand"],
      };
      add({ ...call("agentcli.apply", params, options), manifest });
    });
  sub(root, "inspect [entity]", "rows of jobs, runs, queue or approvals")
    .option("--db <file>", "the scheduler's database")
    .option("--fields <names>", "only these, comma-separated; a.b reaches into JSON")
    .option("--limit <n>", "so many at most; 20 unless told")
    .option("--sanitize <mode>", "none or basic", "none")
    .action((entity: string | undefined, options: Options) => {
      const { db: dbPath, fields, limit, sanitize } = options;
      add(call("agentcli.inspect", { entity, dbPath, fields, limit, sanitize }, options));
    });
}

/** Group of commands, prefix of their methods. */
const GROUPS: readonly (readonly [command: string, prefix: string, list: string, key: string])[] = [
  ["identity", "agentcli.identity", "providers", "provider"],
  ["authorization-proof", "agentcli.authorizationProof", "methods", "method"],
  ["authorization", "agentcli.authorization", "providers", "provider"],
  ["evidence", "agentcli.evidence", "providers", "provider"],
];

/** Methods about one task. */
const TASK_COMMANDS: Readonly<Record<string, readonly (readonly [string, string, string])[]>> = {
  identity: [
    ["resolve", "agentcli.identity.resolve", "the identity that a task acts under"],
    ["validate-delegation", "agentcli.identity.validateDelegation", "who stands behind it"],
  ],
  authorization: [["evaluate", "agentcli.authorization.evaluate", "whether a task may run"]],
};

function addGovernance(root: Command, add: Add): void {
  for (const [name, prefix, list, key] of GROUPS) {
    const group = root.command(name).description(`${list} of ${name}, and what they can do`);
    sub(group, list, "list them").action((options: Options) =>
      add(call(`${prefix}.${list}`, {}, options)),
    );
    sub(group, `schema <${key}>`, "what one of them can do").action(
      (value: string, options: Options) => add(call(`${prefix}.schema`, { [key]: value }, options)),
    );
    for (const [command, method, description] of TASK_COMMANDS[name] ?? []) {
      sub(group, `${command} <manifest> <task>`, description)
        .option("--workflow <id>", "the task's workflow, where there are several")
        .action((manifest: string, taskId: string, options: Options) => {
          const params = { taskId, workflowId: options["workflow"] };
          add({ ...call(method, params, options), manifest });
        });
    }
  }
}
