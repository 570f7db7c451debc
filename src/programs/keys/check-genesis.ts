/** Verifies a Genesis: its form, its signature, its Agent-ID, and whether its issuer is trusted. */

import { isError, type Problem } from "../../base/problem.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { readGenesisFile } from "../../identity/genesis-file.ts";
import type { Check, FileReport } from "./checks.ts";

/** The checks of a Genesis, and its Agent-ID when they passed. */
export interface GenesisReport extends FileReport {
  readonly genesis: ReturnType<typeof readGenesisFile>["genesis"];
}

/** Verifies the text of a Genesis. */
export function checkGenesis(
  text: string,
  file: string,
  issuers: readonly Ed25519PublicKey[],
): GenesisReport {
  const { genesis, problems } = readGenesisFile(text, file, issuers);
  const errors = problems.filter(isError);
  const own = ["signature", "agent_id"];
  const checks: readonly Check[] = [
    ...formChecks(problems, own, "issuer_public_key"),
    signatureCheck(errors),
    agentIdCheck(errors, genesis?.agentId),
    issuerCheck(issuers, genesis?.isTrusted),
  ];
  return { file, kind: "genesis", checks, genesis };
}

/** Problems without a check of their own; a warning about trust has one. */
export function formChecks(
  problems: readonly Problem[],
  own: readonly string[],
  trustKey: string,
): readonly Check[] {
  const found = problems.flatMap((problem): readonly Check[] => {
    const { key, message } = problem;
    const isOwn = own.includes(key) || (key === trustKey && !isError(problem));
    if (isOwn) return [];
    const outcome = isError(problem) ? "failed" : "warning";
    return [{ check: "form", outcome, message: key === "" ? message : `${key} ${message}` }];
  });
  const isWhole = found.every(({ outcome }) => outcome !== "failed");
  return isWhole
    ? [{ check: "form", outcome: "ok", message: "every member is as it should be" }, ...found]
    : found;
}

/** Tells whether the issuer is one of those that the command line names. */
export function issuerCheck(
  issuers: readonly Ed25519PublicKey[],
  isTrusted: boolean | undefined,
): Check {
  const check = "issuer";
  if (issuers.length === 0) {
    return { check, outcome: "skipped", message: "no --issuer-key says who is trusted" };
  }
  if (isTrusted === undefined) {
    return { check, outcome: "skipped", message: "nothing else can be relied on" };
  }
  return isTrusted
    ? { check, outcome: "ok", message: "is trusted by --issuer-key" }
    : { check, outcome: "failed", message: "is none of those of --issuer-key" };
}

function signatureCheck(errors: readonly Problem[]): Check {
  const check = "signature";
  const failed = errors.find(({ key }) => key === "signature");
  if (failed !== undefined) return { check, outcome: "failed", message: failed.message };
  if (errors.some(({ key }) => key === "" || key === "issuer_public_key")) {
    return { check, outcome: "failed", message: "cannot be verified without a key to do it with" };
  }
  return { check, outcome: "ok", message: "verifies over the canonical form" };
}

function agentIdCheck(errors: readonly Problem[], agentId: string | undefined): Check {
  const check = "agent-id";
  const failed = errors.find(({ key }) => key === "agent_id");
  if (failed !== undefined) return { check, outcome: "failed", message: failed.message };
  return agentId === undefined
    ? { check, outcome: "skipped", message: "nothing to derive one from" }
    : { check, outcome: "ok", message: agentId };
}
