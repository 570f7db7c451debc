/** The shell that every program is declared for, by programs that a test declares. */
import { describe, expect, it } from "vitest";
import { VERSION } from "../../../src/base/version.ts";
import {
  type Command,
  CommandRefusal,
  command,
  FileProblems,
  usage,
} from "../../../src/programs/shell/command.ts";
import { InvalidValue } from "../../../src/programs/shell/run-program.ts";
import { runIn } from "../../support/terminal.ts";

const seen: object[] = [];

const bake: Command = command({
  name: "bake",
  description: "Bakes.",
  args: { "<cake>": "which one", "[more...]": "others" },
  options: {
    "-t, --oven-temperature <degrees>": { help: "how hot", parse: readDegrees },
    "--guest <name>": { help: "for whom", isRepeated: true },
    "--topping <list>": { help: "on it: a,b", isJoined: true },
    "--size <size>": { help: "how big", choices: ["small", "large"], default: "small" },
    "--no-sugar": "leave it out",
    "--box [colour]": "to take away",
    "--recipe <file>": "by which",
    "--note <file>": { help: "what to write on it", isRepeated: true },
  },
  run: (line, { out }) => {
    // What is declared is what the types say.
    const hot: number | undefined = line.ovenTemperature;
    const words: readonly string[] = [line.cake, ...line.more, ...line.guest, line.size];
    seen.push(line);
    out.write(`${words.join(" ")} ${hot ?? "cold"}\n`);
    return line.cake !== "burnt";
  },
});

const STALE = { file: "shop.toml", key: "cake", message: "is stale" };

const shop: Command = {
  name: "shop",
  description: "A shop.",
  notes: "\nExit codes: 0 sold, 1 not, 2 nobody knows.",
  commands: [
    bake,
    command({
      name: "sell",
      description: "Sells.",
      args: { "<cake>": "which one" },
      options: { "--json": "print JSON", "--bill": "print one first" },
      run: ({ cake, bill }, { out }) => {
        if (bill) out.write("[]");
        if (cake === "none") throw usage("there is no\nsuch cake");
        if (cake === "mine") throw new CommandRefusal("it is sold");
        if (cake === "stale") throw new CommandRefusal("shop.toml: cake: is stale", [STALE]);
        if (cake === "torn") throw new FileProblems([STALE, { ...STALE, key: "", hint: "sew it" }]);
        if (cake === "broken") throw new TypeError("a fault");
        return 7;
      },
    }),
  ],
};

const house: Command = command({
  name: "house",
  description: "A house.",
  options: { "--street <name>": { help: "where", default: "Main" }, "--light": "on" },
  programs: [
    { name: "shop", description: "the shop in it", load: () => shop },
    { name: "cellar", load: async () => command({ ...cellar, name: "house cellar" }) },
  ],
  run: ({ street }, { out }) => {
    out.write(`${street}\n`);
    return true;
  },
});

const cellar = {
  description: "Below.",
  options: { "--street <name>": "where", "--light": "on", "--deep": "very" },
  run: (line: object) => {
    seen.push(line);
    return true;
  },
} as const;

function readDegrees(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidValue("a number is expected");
}

function run(program: Command, ...args: readonly string[]) {
  return runIn("/", program, args);
}

describe("a declared program", () => {
  it("is given its arguments and options by their names", async () => {
    const args = ["plum", "apple", "-t", "180", "--guest", "a", "--guest", "b", "--no-sugar"];
    const { exitCode, out } = await run(shop, "bake", ...args, "--box");
    expect([exitCode, out]).toEqual([0, "plum apple a b small 180\n"]);
    expect(seen.at(-1)).toEqual({
      ...{ cake: "plum", more: ["apple"], ovenTemperature: 180, guest: ["a", "b"] },
      ...{ size: "small", sugar: false, box: true, note: [] },
    });
  });

  it("loses nothing of a list with commas that is written in parts", async () => {
    await run(shop, "bake", "plum", "--topping", "cream,nuts", "--topping", "sugar");
    expect(seen.at(-1)).toMatchObject({ topping: "cream,nuts,sugar" });
    await run(shop, "bake", "plum", "--topping", "");
    expect(seen.at(-1)).toMatchObject({ topping: "" });
    await run(shop, "bake", "plum");
    expect(seen.at(-1)).not.toHaveProperty("topping");
  });

  it("explains itself, with its notes, and says its version", async () => {
    const { exitCode, out, err } = await run(shop, "--help");
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toContain("Usage: shop [options] [command]");
    expect(out).toMatch(/Exit codes: 0 sold, .*\n$/);
    expect((await run(shop, "bake", "--help")).out).toMatch(/--size <size> +how big \(choices/);
    expect(await run(shop, "--version")).toMatchObject({ exitCode: 0, out: `${VERSION}\n` });
  });

  it.each([
    [["bake"], "error: missing required argument 'cake'\n(shop bake --help says what it takes)\n"],
    [["--frob"], "error: unknown option '--frob'\n(shop --help says what it takes)\n"],
    [
      ["bake", "a", "--recipe", ""],
      "argument '' is invalid. it is empty, and a path is expected\n",
    ],
    [["bake", "a", "--note", "x", "--note", ""], "it is empty, and a path is expected\n"],
    [["bake", "plum", "--gest", "a"], "error: unknown option '--gest'\n(Did you mean --guest?)\n"],
    [["bkae"], "error: unknown command 'bkae'\n(Did you mean bake?)\n"],
    [["sell", "a", "b"], "too many arguments for 'sell'. Expected 1 argument but got 2.\n"],
    [["bake", "a", "-t", "warm"], "argument 'warm' is invalid. a number is expected\n"],
    [["bake", "a", "--size", "huge"], "is invalid. Allowed choices are small, large.\n"],
  ])("refuses %j with exit code 2", async (args, message) => {
    const { exitCode, out, err } = await run(shop, ...args);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  it("tells of a required option that was misspelt as of any other", async () => {
    const send: Command = command({
      name: "send",
      description: "Sends.",
      options: { "-t, --to <name>": { help: "to whom", isRequired: true } },
      run: ({ to }, { out }) => {
        out.write(to);
        return true;
      },
    });
    const misspelt = await run(send, "--ot", "Ada");
    expect(misspelt).toMatchObject({ exitCode: 2, out: "" });
    expect(misspelt.err).toContain("error: unknown option '--ot'\n(Did you mean --to?)\n");
    const missing = await run(send);
    expect(missing).toMatchObject({ exitCode: 2, out: "" });
    expect(missing.err).toContain("error: required option '-t, --to <name>' not specified\n");
    expect(await run(send, "-t", "Ada")).toMatchObject({ exitCode: 0, out: "Ada" });
  });

  it("helps with a program below it as that program does, by either word", async () => {
    const asked = await run(house, "shop", "--help");
    expect(asked.out).toContain("Usage: shop");
    expect(await run(house, "help", "shop")).toEqual(asked);
    expect(await run(house, "help", "shop", "sell")).toEqual(
      await run(house, "shop", "sell", "--help"),
    );
  });

  it("names the option that somebody took for a command", async () => {
    const { exitCode, err } = await run(house, "light");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("(Did you mean --light?)")]);
  });

  it("refuses too many arguments of a command, whatever is done without one", async () => {
    const { commands = [] } = shop;
    const open = command({ name: "shop", description: "a shop", commands, run: () => 0 });
    expect((await run(open)).exitCode).toBe(0);
    const { exitCode, err } = await run(open, "sell", "a", "b");
    expect([exitCode, err]).toEqual([2, expect.stringContaining("too many arguments for 'sell'")]);
    expect((await run(open, "sel")).err).toContain("unknown command 'sel'\n(Did you mean sell?)");
    const started = await run(open, "run");
    expect(started.err).toContain("unknown command 'run'\n(shop without a command does that)");
  });

  it("exits by its answer", async () => {
    expect((await run(shop, "bake", "burnt")).exitCode).toBe(1);
    expect((await run(shop, "sell", "plum")).exitCode).toBe(7);
    expect((await run(shop)).exitCode).toBe(2);
  });

  it("says on one line why it could not be asked, and why its answer is no", async () => {
    const asked = await run(shop, "sell", "none");
    expect(asked).toEqual({ exitCode: 2, out: "", err: "shop: there is no such cake\n" });
    const refused = await run(shop, "sell", "mine");
    expect(refused).toEqual({ exitCode: 1, out: "", err: "shop: it is sold\n" });
    const whole = await run({ ...shop, hasLongMessages: true }, "sell", "none");
    expect(whole.err).toBe("shop: there is no\nsuch cake\n");
  });

  it("says so as JSON as well to those who read nothing else", async () => {
    const failure = (message: string, hint?: string) => ({
      ok: false,
      problems: [{ file: "", key: "", message, ...(hint === undefined ? {} : { hint }) }],
    });
    const asJson = async (...args: readonly string[]) => {
      const { out, ...rest } = await run(shop, ...args, "--json");
      return { ...rest, out: JSON.parse(out) };
    };
    const err = "shop: there is no such cake\n";
    const out = failure("there is no such cake");
    expect(await asJson("sell", "none")).toEqual({ exitCode: 2, err, out });
    expect(await asJson("sell", "mine")).toMatchObject({ exitCode: 1, out: failure("it is sold") });
    const unknown = failure("unknown option '--bil'", "(Did you mean --bill?)");
    expect(await asJson("sell", "plum", "--bil")).toMatchObject({ exitCode: 2, out: unknown });
    const missing = failure("missing required argument 'cake'");
    expect(await asJson("sell")).toMatchObject({ exitCode: 2, out: missing });
    expect(await run(shop, "sell", "mine", "--bill", "--json")).toMatchObject({ out: "[]" });
    expect(await run(shop, "sell", "plum", "--json")).toMatchObject({ out: "" });
  });

  it("names the files and keys of problems to those who read JSON", async () => {
    const stale = await run(shop, "sell", "stale", "--json");
    expect(stale).toMatchObject({ exitCode: 1, err: "shop: shop.toml: cake: is stale\n" });
    expect(JSON.parse(stale.out)).toEqual({ ok: false, problems: [STALE] });
    const torn = await run(shop, "sell", "torn", "--json");
    const err = "shop: shop.toml: cake: is stale; shop.toml: is stale (sew it)\n";
    expect(torn).toMatchObject({ exitCode: 2, err });
    expect(JSON.parse(torn.out)).toEqual({
      ...{ ok: false, problems: [STALE, { ...STALE, key: "", hint: "sew it" }] },
    });
  });

  it("throws its faults", async () => {
    await expect(run(shop, "sell", "broken")).rejects.toThrow("a fault");
  });

  it("hands a program below it everything, the options before its name included", async () => {
    expect((await run(house)).out).toBe("Main\n");
    await run(house, "--street", "Side", "--light", "cellar", "--deep");
    expect(seen.at(-1)).toEqual({ street: "Side", light: true, deep: true });
    expect((await run(house, "shop", "--help")).out).toContain("Usage: shop");
    const { out } = await run(house, "--help");
    expect(out).toMatch(/^ {2}shop +the shop in it$/m);
    expect(out).not.toContain("cellar");
    expect(await run(house, "shed")).toMatchObject({ exitCode: 2 });
  });
});
