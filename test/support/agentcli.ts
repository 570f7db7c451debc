/** agentcli manifests and the protocol, in the words of a test. */
import { PassThrough, Writable } from "node:stream";
import { runProgram } from "../../src/modules/agentcli/create-world.ts";
import { KeySets } from "../../src/modules/agentcli/governance/keys.ts";
import type { MethodContext } from "../../src/modules/agentcli/methods/method.ts";
import type { AskJson, World } from "../../src/modules/agentcli/world.ts";
import { rpcProgram, serveProtocol } from "../../src/programs/rpc/command.ts";
import { type ProgramRun, runIn } from "./terminal.ts";

type Members = Readonly<Record<string, unknown>>;

/** Any JSON; a test looks at the members it knows. */
export interface Json {
  readonly [member: string]: Json;
}

/** A prompt task with a schedule; a member that is undefined is left out. */
export function promptTask(members: Members = {}): Members {
  return defined({
    id: "t1",
    name: "T",
    prompt: "hello",
    target: { session_target: "isolated" },
    schedule: { cron: "0 9 * * *" },
    ...members,
  });
}

/** A prompt task that follows on the success of another. */
export function followingTask(id: string, parent: string, members: Members = {}): Members {
  const trigger = { parent, on: "success" };
  return promptTask({ id, schedule: undefined, trigger, ...members });
}

/** A shell task with a schedule. */
export function shellTask(
  program: string,
  args: readonly string[],
  members: Members = {},
): Members {
  const shell = { program, args, ...(members["shell"] as Members | undefined) };
  return promptTask({
    prompt: undefined,
    target: { session_target: "shell" },
    ...members,
    shell,
  });
}

/** A manifest with one workflow, `w1`. */
export function manifestOf(tasks: readonly Members[], members: Members = {}): Members {
  const { workflow, ...top } = members;
  return {
    version: "0.2",
    ...top,
    workflows: [{ id: "w1", name: "W", ...(workflow as Members | undefined), tasks }],
  };
}

function defined(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** A world in which nothing is asked and nobody has a name. */
export function testWorld(world: Partial<World> = {}): World {
  const askJson: AskJson = (url) =>
    Promise.resolve({ kind: "fault", message: `nobody answers at ${url}` });
  const keySets = new KeySets(world.askJson ?? askJson);
  return {
    ...{ env: {}, directory: "/", operator: "tester@host", askJson, keySets, runProgram },
    ...world,
  };
}

/** Sends texts to a server of the protocol, in chunks, and answers its lines, parsed. */
export async function talk(
  chunks: readonly (string | Buffer)[],
  context: Partial<MethodContext> = {},
): Promise<readonly Json[]> {
  const input = new PassThrough();
  const written: string[] = [];
  const output = new Writable({
    write: (chunk, _, done) => {
      written.push(String(chunk));
      done();
    },
  });
  const faults: unknown[] = [];
  const served = serveProtocol({
    world: testWorld(),
    defaults: {},
    ...context,
    ...{ input, output },
    report: (fault) => faults.push(fault),
  });
  for (const chunk of chunks) input.write(chunk);
  input.end();
  await served;
  if (faults.length > 0) throw faults[0];
  const text = written.join("");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The response to one call, without the ready notification. */
export async function call(
  method: string,
  params: unknown = {},
  context: Partial<MethodContext> = {},
): Promise<Json> {
  const request = { jsonrpc: "2.0", id: 1, method, params };
  const [, response] = await talk([`${JSON.stringify(request)}\n`], context);
  if (response === undefined) throw new Error("no response");
  return response;
}

/** Runs a command of `agtp-rpc` in a directory. */
export function runRpc(
  args: readonly string[],
  {
    directory = "/",
    env: environment = {},
    input = "",
  }: { directory?: string; env?: World["env"]; input?: string } = {},
): Promise<ProgramRun> {
  return runIn(directory, rpcProgram, args, { environment, input });
}
