/**
 * The files of the bundle that programs share with the daemon: a program that needs less of it loads fewer
 * of them. A module is in the first of these files whose programs import it, so none needs a later one.
 */
import type { CodeSplittingGroup, Plugin, PluginContext } from "rolldown";

const PROGRAMS = "tools/programs.js";
const command = (folder: string) => `src/programs/${folder}/command.js`;

/** Each with the modules whose imports it takes. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  shell: [PROGRAMS],
  client: [command("agtp"), "src/programs/control-commands.js"],
  identity: [command("keys"), command("rpc")],
  schemas: [command("conformance"), command("manifest-check")],
  configuration: ["agntcy-command", "init", "openapi", "upgrade"].map(command),
};

/** The daemon is a program, whose command line is read as theirs are. */
const DAEMON = [PROGRAMS, "tools/agtpd-daemon.js"];
const SHELL = "src/programs/shell/";

/** A plugin that learns what imports what, and the files, in the order in which they take modules. */
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

  /** Modules, whatever they import, and so on. */
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
