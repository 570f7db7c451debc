/**
 * Assigns modules to the bundle files that programs share with the daemon, so that a program loads
 * only the files it needs. A module is in the first file whose programs import it, so no file needs
 * a later one.
 */
import type { CodeSplittingGroup, Plugin, PluginContext } from "rolldown";

const PROGRAMS = "tools/programs.js";
const command = (folder: string) => `src/programs/${folder}/command.js`;

/** The shared files, each with the modules whose imports it contains. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  shell: [PROGRAMS],
  client: [command("agtp"), "src/programs/control-commands.js"],
  identity: [command("keys"), command("rpc")],
  schemas: [command("conformance"), command("manifest-check")],
  configuration: ["agntcy-command", "init", "openapi", "upgrade"].map(command),
};

/** The daemon is a program, too, with the same command-line parser. */
const DAEMON = [PROGRAMS, "tools/agtpd-daemon.js"];
const SHELL = "src/programs/shell/";

/** A plugin that records imports, and the groups in order of precedence. */
export interface SharedFiles {
  readonly plugin: Plugin;
  readonly groups: readonly CodeSplittingGroup[];
}

/** @param dist the folder of the built modules, with a slash at its end */
export function sharedFiles(dist: string): SharedFiles {
  let modules: PluginContext | undefined;
  const plugin: Plugin = {
    name: "shared-files",
    buildEnd() {
      modules = this;
    },
  };

  /** The modules with everything that they import, transitively. */
  function importedBy(paths: readonly string[]): ReadonlySet<string> {
    const found = new Set(paths.map((path) => dist + path));
    for (const id of found) {
      for (const imported of modules?.getModuleInfo(id)?.importedIds ?? []) found.add(imported);
    }
    return found;
  }

  function sharedBy(paths: readonly string[]): ReadonlySet<string> {
    const ofDaemon = importedBy(DAEMON);
    const shared = [...importedBy(paths)].filter(
      (id) => ofDaemon.has(id) || id.startsWith(dist + SHELL),
    );
    return new Set(shared.filter((id) => id !== dist + PROGRAMS));
  }

  const groups = Object.entries(FILES).map(([name, paths]): CodeSplittingGroup => {
    let taken: ReadonlySet<string> | undefined;
    return {
      name,
      test: (id) => {
        taken ??= sharedBy(paths);
        return taken.has(id);
      },
    };
  });
  return { plugin, groups };
}
