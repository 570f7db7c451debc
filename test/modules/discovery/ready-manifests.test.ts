import { describe, expect, it } from "vitest";
import type { ManifestDocument } from "../../../src/modules/discovery/document.ts";
import { ReadyManifests } from "../../../src/modules/discovery/publish.ts";

/** Makes manifests of a length, and counts them. */
function maker(octets: number) {
  const counted = { made: 0 };
  const make = async (): Promise<ManifestDocument> => {
    counted.made += 1;
    return { bytes: new Uint8Array(octets), etag: '"e"', documentVersion: "v-1" };
  };
  return { counted, make };
}

describe("manifests that are kept ready", () => {
  it("are made once, also for those who ask meanwhile", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    const [one, other] = await Promise.all([ready.get("a", make), ready.get("a", make)]);
    expect(other).toBe(one);
    expect(await ready.get("a", make)).toBe(one);
    expect(counted.made).toBe(1);
  });

  it("have no more octets together than they may, the latest stay", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    for (const name of ["a", "b", "b", "a"]) await ready.get(name, make);
    expect(counted.made).toBe(3);
  });

  it("do not have one that is longer than all may be", async () => {
    const ready = new ReadyManifests(100);
    const short = maker(60);
    const long = maker(101);
    await ready.get("short", short.make);
    await ready.get("long", long.make);
    await ready.get("long", long.make);
    await ready.get("short", short.make);
    expect([short.counted.made, long.counted.made]).toEqual([1, 2]);
  });

  it("are tried again where they could not be made", async () => {
    const ready = new ReadyManifests(100);
    const { counted, make } = maker(60);
    const fail = () => Promise.reject(new Error("no key"));
    await expect(ready.get("a", fail)).rejects.toThrow("no key");
    await ready.get("a", make);
    expect(counted.made).toBe(1);
  });
});
