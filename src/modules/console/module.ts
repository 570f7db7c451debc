/**
 * The operator's console: pages and their API on a listener of their own, and one-time sign-in links. Nothing of it is
 * loaded while it is off.   `[console]`
 */
import type { Module } from "../../dispatch/module/module.ts";
import type { ConsoleSections } from "./config.ts";

function refuseLogin(): never {
  throw new Error(
    "the console is off: set enabled = true under [console], and start the daemon again",
  );
}

export const consoleModule: Module<ConsoleSections> = {
  name: "console",
  takes: { console: true, server: true },
  async provision(context) {
    if (!context.config.console.enabled) {
      const names = ["login", "passkeys"];
      return { commands: new Map(names.map((name) => [name, refuseLogin])) };
    }
    const { openConsole } = await import("./open-console.ts");
    const { side, commands, problems, start, close } = await openConsole(context);
    return { console: side, commands, blockers: problems, start, stop: close };
  },
};
