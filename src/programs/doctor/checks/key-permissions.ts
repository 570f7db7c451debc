/** Who beside its owner can read or replace a private key. */
import { privateKeyPaths } from "../deployment-paths.ts";
import type { Check, Severity } from "../finding.ts";
import { nameOf } from "../subject.ts";

/** The check `key-permissions`. */
export const keyPermissions: Check = {
  id: "key-permissions",
  asks: "are private keys their owner's alone?",
  look: (subject) => {
    const { machine, configFile } = subject;
    if (machine.uid === undefined) return [];
    return privateKeyPaths(subject).flatMap(({ path, key }) => {
      const mode = machine.status(path)?.mode ?? 0;
      const judged = judge(mode);
      if (judged === undefined) return [];
      const name = nameOf(subject, path);
      const place = key === "" ? { file: name, key } : { file: configFile, key };
      const message = `the private key "${name}" ${judged.message}, its mode is ${octal(mode)}`;
      const remedy = `chmod 600 ${name}; if others may have read it, make a new one`;
      return [{ ...place, severity: judged.severity, message, remedy }];
    });
  },
};

function judge(
  mode: number,
): { readonly severity: Severity; readonly message: string } | undefined {
  if ((mode & 0o022) !== 0) return { severity: "error", message: "can be replaced by others" };
  if ((mode & 0o004) !== 0) return { severity: "error", message: "can be read by everybody" };
  // A group of its own is a habit of some systems.
  if ((mode & 0o040) !== 0) return { severity: "warning", message: "can be read by its group" };
  return undefined;
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
