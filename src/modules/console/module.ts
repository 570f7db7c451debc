/**
 * The operator's console: pages and their API on a listener of their own, and the links that let
 * people in. Off, nothing of it is loaded.   `[console]`
 */
import type { Module } from "../../dispatch/module.ts";
import type { ConsoleSections } from "./config.ts";

export const consoleModule: Module<ConsoleSections> = {
  name: "console",
  takes: { console: true, server: true },
  async provision(context) {
    if (!context.config.console.enabled) return {};
    const { openConsole } = await import("./open-console.ts");
    const { side, commands, close } = await openConsole(context);
    return { console: side, commands, stop: close };
  },
};
