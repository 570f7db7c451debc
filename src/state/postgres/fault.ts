/** The meaning of what PostgreSQL, or the way to it, answered. */
import { codeOf } from "../../base/thrown.ts";
import type { StoreFaultKind } from "../store-fault.ts";

/** Five characters, as SQL has them. */
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** The statement can be made again as it is: another was sooner. */
const RACES = ["40001", "40P01", "55P03"];
/**
 * Classes of SQLSTATE: no connection, a constraint that somebody has added, no resources, an operator's
 * intervention, a system error, what a trigger raised.
 */
const CLASSES: Readonly<Record<string, StoreFaultKind>> = {
  "08": "unreachable",
  "23": "unusable",
  "28": "refused",
  "3D": "refused",
  "53": "unreachable",
  "57": "unreachable",
  "58": "unusable",
  P0: "unusable",
  XX: "damaged",
};
const STATES: Readonly<Record<string, StoreFaultKind>> = {
  "25006": "read-only",
  "25P03": "unreachable",
  "42501": "refused",
  "42703": "unusable",
  "42P01": "refused",
  "53100": "full",
  "57014": "unusable",
};
/** The server has ended the connection by itself: a transaction of it was idle for too long. */
const IDLE_TRANSACTION = "25P03";

/** Tells whether the server itself refused a statement: then nothing of its transaction is kept. */
export function isAnswer(thrown: unknown): boolean {
  const code = codeOf(thrown);
  // What ends the connection as well may have been said by whatever stands between.
  const isEnd = code.startsWith("57P") || code.startsWith("08") || code === IDLE_TRANSACTION;
  return SQLSTATE.test(code) && !isEnd;
}

/** Tells whether a transaction lost against another and can be made again. */
export function isRace(thrown: unknown): boolean {
  return RACES.includes(codeOf(thrown));
}

/** How often a transaction is made that loses against others. */
const ATTEMPTS = 5;

/** Does something that is one transaction, and does it again where that lost against another. */
export async function again<Done>(attempt: () => Promise<Done>): Promise<Done> {
  for (let made = 1; ; made += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRace(error) || made >= ATTEMPTS) throw error;
    }
  }
}

/** The kind of a fault; undefined for one that is this program's own. */
export function postgresFaultKind(thrown: unknown): StoreFaultKind | undefined {
  const code = codeOf(thrown);
  if (!SQLSTATE.test(code)) return "unreachable";
  return STATES[code] ?? CLASSES[code.slice(0, 2)] ?? (isRace(thrown) ? "unusable" : undefined);
}
