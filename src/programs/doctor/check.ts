/** A check: one question about a deployment, asked of its files. `checks/` has them by subject. */
import type { Finding, Severity } from "../shell/findings.ts";
import type { Subject } from "./subject.ts";

/** One thing that a check sees, with what to do about it. */
export interface Observation extends Omit<Finding, "rule"> {
  readonly hint: string;
}

/** One question. A throw says that it could not be asked. */
export interface Check {
  /** Kebab-case; docs/doctor.md explains it. */
  readonly id: string;
  /** The question, for people. */
  readonly asks: string;
  look(subject: Subject): readonly Observation[];
}

/** A verdict on one key of the configuration. */
interface SettingVerdict {
  readonly message: string;
  readonly hint: string;
  /** A warning, unless it is said. */
  readonly severity?: Severity;
  /** The place, if it is not the key that the check is about. */
  readonly key?: string;
}

/** A check of one key of the configuration; nothing is found where the verdict is undefined. */
export function settingCheck(
  id: string,
  asks: string,
  key: string,
  judge: (subject: Subject) => SettingVerdict | undefined,
): Check {
  return {
    ...{ id, asks },
    look: (subject) => {
      const verdict = judge(subject);
      const found = { severity: "warning" as const, file: subject.configFile, key };
      return verdict === undefined ? [] : [{ ...found, ...verdict }];
    },
  };
}
