/** Names that are looked up, some of which nobody answers for. */
import { describe, expect, it } from "vitest";
import { type Resolve, shareLookUps } from "../../src/handlers/shared-look-ups.ts";

const ALL = { all: true } as const;

/** A resolver that answers as it is told to, and a clock. */
function openResolver() {
  const asked: { readonly name: string; answer(ms: number, address?: string): void }[] = [];
  let at = 0;
  const resolve: Resolve = (name, _, callback) => {
    asked.push({
      name,
      answer(ms, address) {
        at += ms;
        if (address !== undefined) return callback(null, [{ address, family: 4 }]);
        callback(Object.assign(new Error(name), { code: "EAI_AGAIN" }), []);
      },
    });
  };
  const shared = shareLookUps(resolve, () => at);
  const told: string[] = [];
  const ask = (name: string, options = {}): void =>
    shared(name, { ...ALL, ...options }, (error, found) => {
      told.push(`${name} ${error?.code ?? found.map(({ address }) => address)}`);
    });
  return {
    ...{ ask, told },
    names: () => asked.map(({ name }) => name),
    last: (name: string) => asked.findLast((one) => one.name === name),
  };
}

describe("a name", () => {
  it("is looked up once for all who wait, and again for whoever comes later", () => {
    const { ask, told, names, last } = openResolver();
    for (let count = 0; count < 30; count += 1) ask("api.example");
    expect(names()).toEqual(["api.example"]);
    last("api.example")?.answer(5, "192.0.2.1");
    expect(told).toEqual(Array(30).fill("api.example 192.0.2.1"));
    ask("api.example");
    expect(names()).toEqual(["api.example", "api.example"]);
  });

  it("is looked up for each family that is asked for", () => {
    const { ask, names } = openResolver();
    ask("api.example", { family: 4 });
    ask("api.example", { family: 6 });
    expect(names()).toHaveLength(2);
  });

  it("that took long is looked up alone, beside all that do not", () => {
    const { ask, told, names, last } = openResolver();
    for (const name of ["dead-1", "dead-2", "dead-3"]) ask(name);
    for (const name of ["dead-1", "dead-2", "dead-3"]) last(name)?.answer(5_000);
    told.length = 0;
    for (const name of ["dead-1", "dead-2", "dead-3", "well"]) ask(name);
    expect(names().slice(3)).toEqual(["dead-1", "well"]);
    last("well")?.answer(5, "192.0.2.1");
    last("dead-1")?.answer(5_000);
    expect(told).toEqual(["well 192.0.2.1", "dead-1 EAI_AGAIN"]);
    expect(names().slice(3)).toEqual(["dead-1", "well", "dead-2"]);
  });

  it("waits for none once it is answered soon again", () => {
    const { ask, names, last } = openResolver();
    for (const name of ["dead", "tired"]) ask(name);
    for (const name of ["dead", "tired"]) last(name)?.answer(5_000);
    ask("tired");
    last("tired")?.answer(5, "192.0.2.1");
    ask("dead");
    ask("tired");
    expect(names().slice(3)).toEqual(["dead", "tired"]);
  });
});
