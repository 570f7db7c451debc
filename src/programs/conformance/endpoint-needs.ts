/**
 * Which endpoints of a server cases try, need by need: only those that say they only read, and that
 * the agent may call.   AGTP-API §6.4, §6.5, §7.1
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { covers } from "../../identity/authority-scope.ts";
import {
  plainSubject,
  querySubject,
  requiredSubject,
  type Subject,
  typedSubject,
} from "./reading-subjects.ts";
import type { Trial } from "./trial.ts";

/** The endpoints by need, of those that the agent may call; undefined where there is none. */
export function endpointNeeds(open: readonly Trial[], catalog: Catalog): Subject {
  const current = open.filter(({ endpoint }) => !isRecord(endpoint["deprecated"]));
  const plain = current.filter(({ method }) => !catalog.verbs.get(method)?.deprecatedIn);
  const deprecated = open.find(({ endpoint }) => isRecord(endpoint["deprecated"]));
  return {
    "reading-endpoint": mapFirst(plain, plainSubject),
    "typed-endpoint": mapFirst(plain, typedSubject),
    "required-input": mapFirst(plain, requiredSubject),
    "query-input": mapFirst(plain, querySubject),
    "deprecated-endpoint": deprecated && deprecatedSubject(deprecated),
  };
}

function mapFirst(
  trials: readonly Trial[],
  make: (trial: Trial) => Subject | undefined,
): Subject | undefined {
  for (const trial of trials) {
    const subject = make(trial);
    if (subject !== undefined) return subject;
  }
  return undefined;
}

/** AGTP-API §6.5: the header that every response of it carries. */
function deprecatedSubject(trial: Trial): Subject {
  const { removed_in: removed, successor } = trial.endpoint["deprecated"] as JsonRecord;
  const parts = isRecord(successor) ? [successor["method"], successor["path"]] : [];
  const named = parts.filter((part) => typeof part === "string").join(" ");
  const warning = ["deprecated"];
  if (named !== "") warning.push(`successor=${named}`);
  if (typeof removed === "string") warning.push(`removed_in=${removed}`);
  return { ...plainSubject(trial), warning: warning.join("; ") };
}

/** An endpoint that requires what the claim leaves out; `held` are the scopes of the agent. */
export function scopedSubject(
  trials: readonly Trial[],
  held: readonly string[] | undefined,
): Subject | undefined {
  for (const trial of trials) {
    const [required] = trial.requiredScopes;
    if (held === undefined || required === undefined) continue;
    const claim = held.filter((scope) => !covers([scope], required));
    if (claim.length > 0) return { ...plainSubject(trial), required, claim: claim.join(", ") };
  }
  return undefined;
}
