/** Classifies errors of PostgreSQL, and of the connection to it. */
import { codeOf } from "../../base/thrown.ts";
import type { StoreFaultKind } from "../store-fault.ts";

/** The format of SQLSTATE: five characters. */
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** Lost races, after which the transaction can be repeated. */
const RACES = ["40001", "40P01", "55P03"];
/**
 * By class of SQLSTATE: no connection, a constraint added by others, no resources, an operator's intervention, a
 * system error, an error raised by a trigger.
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
/** The server ended the connection because a transaction was idle for too long. */
const IDLE_TRANSACTION = "25P03";

/** True if the server refused a statement, so that nothing of its transaction is stored. */
export function isAnswer(thrown: unknown): boolean {
  const code = codeOf(thrown);
  // A connection-ending error may come from an intermediary.
  const isEnd = code.startsWith("57P") || code.startsWith("08") || code === IDLE_TRANSACTION;
  return SQLSTATE.test(code) && !isEnd;
}

/** True if a transaction lost a race and can be repeated. */
export function isRace(thrown: unknown): boolean {
  return RACES.includes(codeOf(thrown));
}

/** The most attempts at a transaction that loses races. */
const ATTEMPTS = 5;

/** Runs a transaction, and repeats it after lost races. */
export async function again<Done>(attempt: () => Promise<Done>): Promise<Done> {
  for (let made = 1; ; made += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRace(error) || made >= ATTEMPTS) throw error;
    }
  }
}

/** Returns the kind of a fault; undefined if it is this program's own. */
export function postgresFaultKind(thrown: unknown): StoreFaultKind | undefined {
  const code = codeOf(thrown);
  if (!SQLSTATE.test(code)) return "unreachable";
  return STATES[code] ?? CLASSES[code.slice(0, 2)] ?? (isRace(thrown) ? "unusable" : undefined);
}
