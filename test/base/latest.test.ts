import { describe, expect, it } from "vitest";
import { Latest } from "../../src/base/latest.ts";

/** One whose making is finished by hand. */
function makeLatest() {
  const state = { stamp: 1, begun: 0 };
  const open: { finish(): void; fail(): void }[] = [];
  const latest = new Latest(
    () => {
      state.begun += 1;
      const value = `made of ${state.stamp}`;
      return new Promise<string>((resolve, reject) => {
        open.push({ finish: () => resolve(value), fail: () => reject(new Error("no")) });
      });
    },
    () => [state.stamp],
  );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { latest, state, open, turn };
}

describe("what is made anew when something has changed", () => {
  it("is made once for all who ask meanwhile, and is there at once from then on", async () => {
    const { latest, state, open, turn } = makeLatest();
    const asked = [latest.get(), latest.get()];
    await turn();
    open[0]?.finish();
    expect(await Promise.all(asked)).toEqual(["made of 1", "made of 1"]);
    expect(latest.get()).toBe("made of 1");
    expect(state.begun).toBe(1);
  });

  it("is never older than the question, and one is made at a time", async () => {
    const { latest, state, open, turn } = makeLatest();
    const before = latest.get();
    await turn();
    state.stamp = 2;
    const after = [latest.get(), latest.get()];
    await turn();
    expect(state.begun).toBe(1);
    open[0]?.finish();
    expect(await before).toBe("made of 1");
    await turn();
    open[1]?.finish();
    expect(await Promise.all(after)).toEqual(["made of 2", "made of 2"]);
    expect(state.begun).toBe(2);
  });

  it("is tried again after a fault", async () => {
    const { latest, open, turn } = makeLatest();
    const failed = expect(latest.get()).rejects.toThrow("no");
    await turn();
    open[0]?.fail();
    await failed;
    const again = latest.get();
    await turn();
    open[1]?.finish();
    expect(await again).toBe("made of 1");
  });
});
