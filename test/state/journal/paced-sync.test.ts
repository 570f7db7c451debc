import { describe, expect, it } from "vitest";
import { pacedSync } from "../../../src/state/journal/journal-disk.ts";

/** A device whose syncs take as long as is said, in milliseconds. */
function makeDevice() {
  const device = { takesMs: 0.1, fault: undefined as Error | undefined };
  const asked: string[] = [];
  let at = 0;
  const take = (where: string): void => {
    asked.push(where);
    at += device.takesMs;
    if (device.fault !== undefined) throw device.fault;
  };
  const beside = (): Promise<void> => Promise.resolve().then(() => take("beside"));
  const sync = pacedSync(
    () => take("here"),
    beside,
    () => at,
  );
  return { device, asked, sync };
}

/** One whose callers have come one at a time for a while. */
async function makeCalmDevice() {
  const made = makeDevice();
  for (let more = 0; more < 8; more += 1) await made.sync(1, true);
  return made;
}

const besides = (count: number): readonly string[] => Array.from({ length: count }, () => "beside");

describe("a sync that a call waits for alone", () => {
  it("is done on the loop once some in a row were, and the last was quick", async () => {
    const { asked, sync } = await makeCalmDevice();
    for (let more = 0; more < 2; more += 1) await sync(1, true);
    expect(asked).toEqual([...besides(8), "here", "here"]);
  });

  it("keeps the loop once where the device turns slow, and not before it is quick again", async () => {
    const { device, asked, sync } = await makeCalmDevice();
    device.takesMs = 20;
    for (let more = 0; more < 3; more += 1) await sync(1, true);
    expect(asked.slice(8)).toEqual(["here", "beside", "beside"]);
    device.takesMs = 0.1;
    for (let more = 0; more < 2; more += 1) await sync(1, true);
    expect(asked.slice(11)).toEqual(["beside", "here"]);
  });

  it("fails as one beside the loop does, and is tried there then", async () => {
    const { device, asked, sync } = await makeCalmDevice();
    device.fault = new Error("EIO: i/o error, fdatasync");
    await expect(sync(1, true)).rejects.toThrow("EIO");
    await expect(sync(2, true)).rejects.toThrow("EIO");
    expect(asked.slice(8)).toEqual(["here", "beside"]);
  });
});

it("syncs what several wait for beside the loop, however quick the device is, and a while longer", async () => {
  const { asked, sync } = await makeCalmDevice();
  await sync(1);
  for (let more = 0; more < 9; more += 1) await sync(1, true);
  expect(asked).toEqual([...besides(8 + 1 + 8), "here"]);
});
