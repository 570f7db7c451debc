/** A worker that stands still: nobody waits for it, and after half a minute it is to be replaced. */
import { duplexPair } from "node:stream";
import { expect, it, onTestFinished, vi } from "vitest";
import { WorkerWatch } from "../../../src/app/workers/worker-watch.ts";
import { Link } from "../../../src/base/link.ts";
import { STORE_FAULTS } from "../../../src/state/sharing/link-faults.ts";
import { PATIENCE } from "../../support/patience.ts";

/** A watched worker, and the other end of its link, which nobody reads before `answer` is called. */
function makeWatch() {
  const [near, far] = duplexPair();
  const told: string[] = [];
  const watch = new WorkerWatch(new Link(near, STORE_FAULTS), {
    onSilent: () => told.push("silent"),
    onHung: () => told.push("hung"),
    everyMs: 1,
  });
  watch.start();
  onTestFinished(() => watch.close());
  const answer = () =>
    new Link(far, STORE_FAULTS).serve({ alive: () => true, status: () => "well" });
  return { watch, told, answer, end: () => far.destroy() };
}

it("ends questions once it is silent, those that are asked then at once, and tells of it once", async () => {
  const { watch, told } = makeWatch();
  await expect(watch.ask("status")).rejects.toThrow("the worker does not answer");
  expect(told).toEqual(["silent"]);
  await expect(watch.ask("status")).rejects.toThrow("the worker does not answer");
  await vi.waitFor(() => expect(told).toEqual(["silent", "hung"]), PATIENCE);
});

it("asks it again once it goes on", async () => {
  const { watch, told, answer } = makeWatch();
  await expect(watch.ask("status")).rejects.toThrow("the worker does not answer");
  answer();
  await vi.waitFor(async () => expect(await watch.ask("status")).toBe("well"), PATIENCE);
  expect(told).toEqual(["silent"]);
});

it("looks no more at one that is gone", async () => {
  const { watch, told, end } = makeWatch();
  end();
  await expect(watch.ask("status")).rejects.toThrow();
  const seen = [...told];
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(seen);
  expect(told).not.toContain("hung");
});
