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

describe("a sync that a call waits for alone", () => {
  it("is done on the loop once one was seen to be quick", async () => {
    const { asked, sync } = makeDevice();
    for (let more = 0; more < 3; more += 1) await sync(1, true);
    expect(asked).toEqual(["beside", "here", "here"]);
  });

  it("keeps the loop once where the device turns slow, and not before it is quick again", async () => {
    const { device, asked, sync } = makeDevice();
    await sync(1, true);
    device.takesMs = 20;
    for (let more = 0; more < 3; more += 1) await sync(1, true);
    expect(asked).toEqual(["beside", "here", "beside", "beside"]);
    device.takesMs = 0.1;
    for (let more = 0; more < 2; more += 1) await sync(1, true);
    expect(asked.slice(4)).toEqual(["beside", "here"]);
  });

  it("fails as one beside the loop does, and is tried there then", async () => {
    const { device, asked, sync } = makeDevice();
    await sync(1, true);
    device.fault = new Error("EIO: i/o error, fdatasync");
    await expect(sync(1, true)).rejects.toThrow("EIO");
    await expect(sync(2, true)).rejects.toThrow("EIO");
    expect(asked).toEqual(["beside", "here", "beside"]);
  });
});

it("syncs what others wait for as well beside the loop, however quick the device is", async () => {
  const { asked, sync } = makeDevice();
  for (let more = 0; more < 3; more += 1) await sync(1);
  expect(asked).toEqual(["beside", "beside", "beside"]);
});
