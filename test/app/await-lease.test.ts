import { describe, expect, it } from "vitest";
import { awaitLease } from "../../src/app/serving.ts";
import { LateLooks } from "../../src/state/late-looks.ts";

describe("awaitLease", () => {
  it("waits for a lease that the store gives late, and late again", async () => {
    let asked = 0;
    const view = {
      isFresh: false,
      catchUp: () => looks.catchUp(),
    };
    // The first look is answered too late, and the lease of the second is over when it is heard of.
    const looks = new LateLooks(() => {
      asked += 1;
      if (asked === 1) return;
      view.isFresh = asked === 3;
      looks.begin()();
    });
    await awaitLease(view);
    expect([asked, view.isFresh]).toEqual([3, true]);
  });

  it("waits for nothing where there is one, or nobody else", async () => {
    const catchUp = () => Promise.reject(new Error("nobody asks"));
    await awaitLease({ isFresh: true, catchUp });
    await awaitLease({ isFresh: false });
  });
});
