import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { loadLate } from "../../src/base/late-load.ts";

describe("loadLate", () => {
  it("loads once, however many ask, and nothing before anybody does", async () => {
    let loads = 0;
    const load = loadLate(async () => {
      loads += 1;
      return {};
    });
    expect([loads, load.begun]).toEqual([0, undefined]);
    const [first, second] = await Promise.all([load(), load()]);
    load.prepare();
    expect(first).toBe(second);
    expect([loads, await load.begun]).toEqual([1, first]);
  });

  it("tries again after a failure, which everybody is told who waited for it", async () => {
    let loads = 0;
    const load = loadLate(async () => {
      loads += 1;
      if (loads === 1) throw new Error("not now");
      return loads;
    });
    const asked = await Promise.allSettled([load(), load()]);
    expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(load.begun).toBeUndefined();
    expect(await load()).toBe(2);
  });

  it("does not fail when nobody waits", async () => {
    let loads = 0;
    const load = loadLate(async () => {
      loads += 1;
      if (loads === 1) throw new Error("not now");
      return loads;
    });
    load.prepare();
    expect(await load().catch(() => load())).toBe(2);
  });
});

/** A child without a single descriptor to spare; what it says on its standard output. */
async function starved(program: string): Promise<readonly string[]> {
  const head = `
    import { closeSync, openSync } from "node:fs";
    const held = [];
    const take = () => { try { for (;;) held.push(openSync("/dev/null")); } catch {} };
    const give = () => { for (const one of held.splice(0)) closeSync(one); };
    const tried = (promise) => promise.then(() => "loaded", () => "failed");`;
  const script = `ulimit -n 256; exec "$0" --input-type=module -e "$1"`;
  const arguments_ = ["-c", script, process.execPath, head + program];
  const cwd = resolve(import.meta.dirname, "..");
  const { stdout } = await promisify(execFile)("bash", arguments_, { cwd });
  return stdout.trim().split("\n");
}

const LATE = JSON.stringify(resolve(import.meta.dirname, "../../dist/src/base/late-load.js"));

describe("a moment without file descriptors", () => {
  it.each(["yaml", "undici", "jose", "@ai-sdk/openai-compatible"])(
    "is over for what is loaded late, %s",
    async (name) => {
      const said = await starved(`
        const { loadLate } = await import(${LATE});
        const load = loadLate(() => import("${name}"));
        take();
        console.log(await tried(load()));
        give();
        console.log(await tried(load()));`);
      expect(said).toEqual(["failed", "loaded"]);
    },
  );

  it("is over for a part that was loaded while there were some", async () => {
    const said = await starved(`
      const { loadLate } = await import(${LATE});
      const load = loadLate(() => import("yaml"));
      load.prepare();
      await load.begun;
      take();
      console.log(await tried(load()));`);
    expect(said).toEqual(["loaded"]);
  });
});
