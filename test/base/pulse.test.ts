import { describe, expect, it } from "vitest";
import { Pulse } from "../../src/base/back-off.ts";

/** Longer than any test waits. */
const NEVER_MS = 600_000;

/** Something that is waited for. */
function gate() {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

describe("Pulse", () => {
  it("beats once it is woken, and again where it was woken meanwhile", async () => {
    let beats = 0;
    const done = gate();
    const pulse = new Pulse(NEVER_MS, async () => {
      beats += 1;
      if (beats === 1) pulse.wake();
      else done.open();
    });
    pulse.start();
    expect(beats).toBe(0);
    pulse.wake();
    await done.passed;
    expect(beats).toBe(2);
    await pulse.stop();
  });

  it("beats by itself after its rest", async () => {
    const done = gate();
    const pulse = new Pulse(1, async () => done.open());
    pulse.start();
    await done.passed;
    await pulse.stop();
  });

  it("stops behind the beat that is under way, and beats no more", async () => {
    const begun = gate();
    const release = gate();
    const said: string[] = [];
    const pulse = new Pulse(NEVER_MS, async () => {
      begun.open();
      await release.passed;
      said.push("beat");
    });
    pulse.start();
    pulse.wake();
    await begun.passed;
    const stopped = pulse.stop().then(() => said.push("stopped"));
    release.open();
    await stopped;
    pulse.wake();
    expect(said).toEqual(["beat", "stopped"]);
  });
});
