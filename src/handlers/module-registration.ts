/** Registers the hooks that load handler modules: with the first module, once a process. */
import { register } from "node:module";
import process from "node:process";

let isRegistered = false;

/** Prepares the process for `?agtpd=…` modules; does nothing the second time. */
export function registerModuleHooks(): void {
  // Node keeps one chain of hooks a process and cannot take a hook off it again.
  if (isRegistered) return;
  isRegistered = true;
  // Run from its TypeScript source, the daemon has a loader already that reads TypeScript.
  if (import.meta.url.endsWith(".ts")) return;
  process.setSourceMapsEnabled(true);
  register("./module-hooks.js", import.meta.url);
}
