/**
 * Runs the program of a permitted task and reports its truncated and redacted output, the check after it, and the
 * evidence.   agentcli spec "Execution result"
 */
import { hash } from "node:crypto";
import type { JsonRecord } from "../../../base/json-value.ts";
import { turnOfLong } from "../../../handlers/paced-answers.ts";
import { canonicalDigest } from "../../../identity/canonical-form.ts";
import { applyEvidenceProfile } from "../compile/merge.ts";
import type { ShellPayload, TaskPlan } from "../compile/task-plan.ts";
import { isFailure } from "../failure.ts";
import { giveEvidence } from "../governance/evidence.ts";
import type { ProofReport } from "../governance/proof.ts";
import { NO_HANDOFF } from "../identity/session.ts";
import {
  type Executor,
  failRun,
  outputLimit,
  type Run,
  type RunRefusal,
  type RunReport,
} from "./execution.ts";
import { type GovernedRun, refuseFailure } from "./govern.ts";
import { childEnvironment, presentCredentials } from "./present-credentials.ts";
import { createRedactor, parseStructured, secretsOf } from "./program-output.ts";
import { type ProgramOutcome, runTaskProgram, type TaskProgram } from "./task-program.ts";

/** Runs the program; its approval is already used. */
export async function executeProgram(
  run: Run,
  payload: ShellPayload,
  governed: GovernedRun,
  executor: Executor,
): Promise<RunReport | RunRefusal> {
  const presented = presentCredentials(governed.identity, payload.stdin);
  if (isFailure(presented)) return refuseFailure(presented);
  const warnings = [...governed.warnings];
  let isSuccess = false;
  try {
    const { plan } = run.found;
    const program: TaskProgram = {
      program: payload.program,
      args: payload.args,
      env: childEnvironment(executor.world.env, payload.env, presented.env),
      cwd: governed.cwd,
      stdin: presented.stdin ?? payload.stdin,
      timeoutMs: plan.runtime.timeout_ms ?? executor.usualTimeoutMs,
      signal: run.call.signal,
      maxOutputBytes: outputLimit(plan),
    };
    const redact = createRedactor([
      ...executor.secrets,
      ...secretsOf(payload.env),
      ...presented.secrets,
    ]);
    const outcome = await runTaskProgram(program, executor.groups);
    if (outcome.kind === "not-started") {
      return failRun("task_not_started", outcome.message, { text: "" });
    }
    await turnOfLong(outcome.stdout.bytes + outcome.stderr.bytes);
    const result = describeResult(plan, outcome, redact, warnings);
    const isOk = outcome.exitCode === 0 && !outcome.isTimedOut;
    const facts = { run, payload, governed, result, isOk, redact, warnings, program };
    const unverified = isOk ? await verify(facts, executor) : undefined;
    if (unverified !== undefined) return unverified;
    isSuccess = isOk;
    return await report(facts, executor);
  } finally {
    const { log } = run.call;
    const left = presented.leftAfter(isSuccess);
    // A failure to clean up must not replace the outcome of the run.
    const error = left === undefined ? presented.remove() : undefined;
    if (left !== undefined) log.warn({ directory: left }, "credentials are left, as cleanup says");
    if (error !== undefined) log.warn({ err: error }, "credentials cannot be removed");
  }
}

interface Facts {
  readonly run: Run;
  readonly payload: ShellPayload;
  readonly governed: GovernedRun;
  readonly result: JsonRecord;
  readonly isOk: boolean;
  readonly redact: (text: string) => string;
  readonly warnings: string[];
  readonly program: TaskProgram;
}

function describeResult(
  { output: { format } }: TaskPlan,
  outcome: Extract<ProgramOutcome, { kind: "ended" }>,
  redact: (text: string) => string,
  warnings: string[],
): JsonRecord {
  const { exitCode, signal, isTimedOut, durationMs, stdout, stderr } = outcome;
  const text = stdout.text(redact);
  const parsed =
    format === "json" || format === "ndjson"
      ? parseStructured(text, format, stdout.isTruncated)
      : {};
  if (parsed.warning !== undefined) warnings.push(parsed.warning);
  if (outcome.isFlooding) warnings.push("the program was ended: it put out too much");
  return {
    exit_code: exitCode,
    signal,
    timed_out: isTimedOut,
    duration_ms: durationMs,
    stdout: text,
    stderr: stderr.text(redact),
    stdout_bytes: stdout.bytes,
    stderr_bytes: stderr.bytes,
    truncated: stdout.isTruncated || stderr.isTruncated,
    output_hash: stdout.digest(),
    structured: parsed.value ?? null,
  };
}

/** The only command that is run by a shell, as the manifest declares it as one. */
async function verify(facts: Facts, { groups }: Executor): Promise<RunRefusal | undefined> {
  const { run, program, redact, warnings, result } = facts;
  const check = run.found.plan.verify;
  if (check === null) return undefined;
  const outcome = await runTaskProgram(
    {
      ...program,
      program: "sh",
      args: ["-c", check.shell],
      stdin: null,
      timeoutMs: check.timeout_seconds * 1000,
    },
    groups,
  );
  if (outcome.kind === "ended" && outcome.exitCode === 0 && !outcome.isTimedOut) return undefined;
  const message = `verify ${describeFailure(outcome, check.timeout_seconds)}`;
  if (check.on_failure === "warn") {
    warnings.push(message);
    return undefined;
  }
  const said = outcome.kind === "ended" ? outcome.stderr.text(redact) : "";
  const { source } = run.found.plan;
  const details = { execution_id: run.executionId, source, result, verify_stderr: said };
  return failRun("verify_failed", message, { text: textOf(result), details });
}

function describeFailure(outcome: ProgramOutcome, timeoutSeconds: number): string {
  if (outcome.kind === "not-started") return `could not be run: ${outcome.message}`;
  const { exitCode, signal, isTimedOut } = outcome;
  if (isTimedOut) return `took longer than ${timeoutSeconds} s`;
  return exitCode === null ? `was ended by ${signal}` : `ended with exit code ${exitCode}`;
}

async function report(facts: Facts, { world }: Executor): Promise<RunReport | RunRefusal> {
  const { run, payload, governed, result, isOk, warnings } = facts;
  const { identity, proof, decision } = governed;
  const { plan, manifest } = run.found;
  const body = {
    ok: isOk,
    execution_id: run.executionId,
    source: plan.source,
    declared_identity: identity.declared,
    resolved_identity: identity.described,
    principal_used: identity.principal,
    contract: plan.contract,
    result,
    authorization_proof: proof === undefined ? null : withoutKind(proof),
    authorization: decision ?? null,
    trust: identity.session?.trust ?? null,
  };
  const evidence = plan.evidence && applyEvidenceProfile(manifest, plan.evidence);
  const command = describeCommand(payload);
  let envelope: JsonRecord | null = null;
  if (evidence !== null) {
    const bound = { ...body, command };
    const given = await giveEvidence(evidence, bound, identity.principal, world);
    if (isFailure(given)) {
      // The task has run, which the refusal must show.
      if (evidence.verify.required === true) {
        const { execution_id, source } = body;
        const details = { execution_id, source, result };
        return failRun("evidence_failed", given.message, { text: textOf(result), details });
      }
      warnings.push(given.message);
    } else if (given !== undefined) envelope = given.envelope;
  }
  return {
    kind: "report",
    status: 200,
    body: {
      ...body,
      evidence: envelope,
      hashes: { command: canonicalDigest(command), result: result["output_hash"] },
      handoff: identity.session?.handoff ?? NO_HANDOFF,
      warnings,
    },
    output: { isOk, text: textOf(result) },
  };
}

function textOf({ stdout, stderr }: JsonRecord): string {
  return `${String(stdout)}${String(stderr)}`;
}

function withoutKind({ kind: _, required: __, ...report }: ProofReport): JsonRecord {
  return report;
}

/**
 * The command as in evidence and its hash. Callers may not see what the operator passes to programs, so only the
 * program's name is plain text and the rest is hashed.   agentcli execution identity "Evidence"
 */
function describeCommand({ program, args, env, stdin }: ShellPayload): JsonRecord {
  return {
    ...{ program, args_count: args.length, args_hashes: args.map(hashText) },
    env_hash: canonicalDigest(env),
    stdin_hash: stdin === null ? null : hashText(stdin),
  };
}

function hashText(text: string): string {
  return `sha256:${hash("sha256", text)}`;
}
