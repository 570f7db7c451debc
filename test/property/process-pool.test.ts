/**
 * Calls of one process's functions that call its functions, in trees of any form, all at once: each is answered, however
 * few places there are, since a call that waits lends its own.
 */
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { ProcessGroups } from "../../src/base/process-groups.ts";
import type { CallSurroundings } from "../../src/handlers/call-upstream.ts";
import type { ProcessCall } from "../../src/handlers/processes/process-call.ts";
import { ProcessPool } from "../../src/handlers/processes/process-pool.ts";
import { makeDirectory } from "../support/directory.ts";

/** Answers how many calls a tree has; its own come one after the other, or all at once. */
const PROCESS = `
import { createInterface } from "node:readline";
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const waiting = new Map();
let last = 0;
const dispatch = (call, input) => {
  const id = "d" + (last += 1);
  send({ id, method: "dispatch", params: { call, method: "QUERY", path: "/trees", input } });
  return new Promise((resolve) => waiting.set(id, (result) => resolve(result.body.count)));
};
const count = async (id, { isAtOnce, below }) => {
  const counts = [];
  for (const tree of below) {
    const counting = dispatch(id, tree);
    counts.push(isAtOnce ? counting : await counting);
  }
  const all = await Promise.all(counts);
  send({ id, result: { body: { count: all.reduce((sum, one) => sum + one, 1) } } });
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "call") void count(id, params.input);
  else waiting.get(id)?.(result);
});
send({ method: "hello", params: { protocol: 1, functions: ["count"] } });
`;

interface Tree {
  readonly isAtOnce: boolean;
  readonly below: readonly Tree[];
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.constant<Tree>({ isAtOnce: true, below: [] }),
    fc.record({ isAtOnce: fc.boolean(), below: fc.array(tie("tree"), { maxLength: 3 }) }),
  ),
}));

function sizeOf({ below }: Tree): number {
  return below.reduce((sum, one) => sum + sizeOf(one), 1);
}

async function openPool(count: number, concurrency: number): Promise<ProcessPool> {
  const directory = makeDirectory({ "process.mjs": PROCESS });
  const ignore = (): void => undefined;
  const pool = new ProcessPool({
    settings: {
      ...{ name: "trees", program: process.execPath, args: ["process.mjs"], directory },
      ...{ env: {}, count, concurrency },
    },
    ...{ groups: new ProcessGroups(), log: { info: ignore, warn: ignore, error: ignore } },
    ...{ maxLineBytes: 1_048_576, helloTimeoutMs: 60_000 },
  });
  onTestFinished(() => pool.close());
  expect(await pool.start()).toBeUndefined();
  return pool;
}

/** Calls it as the dispatcher does, below the request that it was dispatched by. */
async function ask(pool: ProcessPool, input: Tree, above?: CallSurroundings): Promise<unknown> {
  const request = (above === undefined ? {} : { inner: { parent: above } }) as CallSurroundings;
  const call: ProcessCall = {
    ...{ function: "count", params: { input }, endsAt: undefined, request },
    signal: new AbortController().signal,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    dispatch: async (_method, _path, below) => ({
      status: 200,
      body: await ask(pool, below as unknown as Tree, request),
    }),
  };
  const result = await pool.call(call);
  return "body" in result ? result.body : result;
}

describe("calls that call their own process", () => {
  it.each([
    [1, 1],
    [1, 2],
    [2, 1],
  ])("are all answered by %i processes with %i places each", async (count, concurrency) => {
    const pool = await openPool(count, concurrency);
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 4 }), async (trees) => {
        const answers = await Promise.all(trees.map((one) => ask(pool, one)));
        expect(answers).toEqual(trees.map((one) => ({ count: sizeOf(one) })));
        expect(pool.health).toMatchObject({ calls: 0, waiting: 0, restarts: 0 });
      }),
      { numRuns: 60 },
    );
  });
});
