/** The literals of the bundle that begin with the members of another object: Node 20 is slow with them. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { Visitor } from "rolldown/utils";
import { describe, expect, it } from "vitest";

const BUNDLE = resolve(import.meta.dirname, "../../dist/bundle");
const FILES = readdirSync(BUNDLE).filter((file) => file.endsWith(".cjs"));

/** Two objects of one literal, asked for the hidden class that they share. */
const ASKING = `
  const made = [1, 2, 3].map((kept) => { const one = { kept }; return { ...{}, ...one, more: kept }; });
  console.log(made.every((one) => %HaveSameMap(one, made[0])), JSON.stringify(made[0]));
`;

describe("the bundle", () => {
  it.each(FILES)("has a first member of none before those of another object: %s", (file) => {
    const code = readFileSync(join(BUNDLE, file), "utf8");
    const others: string[] = [];
    new Visitor({
      ObjectExpression: ({ start, end, properties: [first, second] }) => {
        if (first?.type !== "SpreadElement" || second === undefined) return;
        const { argument } = first;
        const isNone = argument.type === "ObjectExpression" && argument.properties.length === 0;
        if (!isNone) others.push(code.slice(start, end));
      },
    }).visit(parseAst(code));
    expect(others).toEqual([]);
  });

  it("has objects that share a hidden class so", () => {
    const args = ["--allow-natives-syntax", "--eval", ASKING];
    const said = execFileSync(process.execPath, args, { encoding: "utf8" });
    expect(said.trim()).toBe('true {"kept":1,"more":1}');
  });
});
