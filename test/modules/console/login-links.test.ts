/** Links that sign a person in at the console.   docs/console.md */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Person } from "../../../src/modules/console/person.ts";
import { LoginLinks } from "../../../src/modules/console/sessions.ts";

const NINA: Person = { id: "link:Nina", name: "Nina", role: "operator", via: "link" };

function pass(minutes: number): void {
  const now = performance.now() + minutes * 60_000;
  const clock = vi.spyOn(performance, "now").mockReturnValue(now);
  onTestFinished(() => clock.mockRestore());
}

describe("a link", () => {
  it("signs its person in once", () => {
    const links = new LoginLinks();
    const token = links.create(NINA);
    expect([links.find(token), links.redeem(token)]).toEqual([NINA, NINA]);
    expect([links.find(token), links.redeem(token)]).toEqual([undefined, undefined]);
  });

  it.each([
    [4.9, NINA],
    [5.1, undefined],
  ])("is good for five minutes: %d", (minutes, person) => {
    const links = new LoginLinks();
    const token = links.create(NINA);
    pass(minutes);
    expect([links.find(token), links.redeem(token)]).toEqual([person, person]);
  });

  it("is forgotten where 64 others were made after it, however often it was looked at", () => {
    const links = new LoginLinks();
    const first = links.create(NINA);
    const others = Array.from({ length: 63 }, () => links.create(NINA));
    expect(links.find(first)).toEqual(NINA);
    links.create(NINA);
    expect(links.find(first)).toBeUndefined();
    expect(links.find(String(others[0]))).toEqual(NINA);
  });
});
