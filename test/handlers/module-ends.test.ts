import { describe, expect, it } from "vitest";
import { ModuleEnds } from "../../src/handlers/module-ends.ts";

function endsNoting(longestMs?: number) {
  const told: string[] = [];
  const ended: string[] = [];
  const ends = new ModuleEnds((message) => told.push(message), longestMs);
  return { ends, told, ended };
}

describe("ModuleEnds", () => {
  it("ends retired modules with the last of their requests, and once", async () => {
    const { ends, ended } = endsNoting();
    ends.add(() => ended.push("a"), "a.ts");
    let answer: (status: number) => void = () => undefined;
    const late = ends.during(() => new Promise<number>((resolve) => (answer = resolve)));
    ends.retire();
    expect(ends.during(() => 204)).toBe(204);
    expect(() =>
      ends.during(() => {
        throw new Error("a fault");
      }),
    ).toThrow("a fault");
    expect(ended).toEqual([]);
    answer(200);
    expect(await late).toBe(200);
    await ends.close();
    ends.retire();
    expect(ended).toEqual(["a"]);
  });

  it("ends them where no request is under way, and not before they are retired", async () => {
    const { ends, ended } = endsNoting();
    ends.add(() => ended.push("a"), "a.ts");
    await ends.during(async () => 200);
    expect(ended).toEqual([]);
    ends.retire();
    expect(ended).toEqual(["a"]);
  });

  it("tells of an end that throws or rejects, and ends the others", async () => {
    const { ends, told, ended } = endsNoting();
    ends.add(() => {
      throw new Error("no pool");
    }, "a.ts");
    ends.add(() => Promise.reject(new Error("no server")), "b.ts");
    ends.add(async () => ended.push("c"), "c.ts");
    await ends.close();
    expect(told).toEqual([
      'onClose of "a.ts" failed: no pool',
      'onClose of "b.ts" failed: no server',
    ]);
    expect(ended).toEqual(["c"]);
  });

  it("waits for none of them for ever", async () => {
    const { ends, told } = endsNoting(1);
    ends.add(() => new Promise(() => {}), "a.ts");
    await ends.close();
    expect(told).toEqual(['onClose of "a.ts" takes too long: nobody waits for it']);
  });

  it("ends once a function that several modules export", async () => {
    const { ends, ended } = endsNoting();
    const end = () => ended.push("pool");
    ends.add(end, "a.ts");
    ends.add(end, "b.ts");
    await ends.close();
    expect(ended).toEqual(["pool"]);
  });
});
