/**
 * Checks the rules of `[[policies.approvals]]`, and that approvals which endpoints demand can be
 * given at all. A rule that can match nothing is reported: it may have been meant to stop a call.
 * docs/approvals.md
 */
import { hintOf } from "../../base/close-matches.ts";
import { findPaced, type Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import { checkTemplate, type MethodNames } from "../../catalog/path-grammar.ts";
import { compilePathPattern } from "../../endpoint/path-template.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import { covers } from "../../identity/authority-scope.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import type { TlsConfig } from "../../identity/identity-sections.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { ApprovalRule, IdentityConfig } from "../policy/policies-section.ts";
import type { Route } from "../routes/route.ts";
import { ApprovalPolicy } from "./approval-policy.ts";

/** The configuration that the rules are checked against. */
interface ApprovalContext {
  /** The name of the configuration file, for problems. */
  readonly file: string;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
  readonly directory: Pick<AgentDirectory, "resolve">;
  readonly routes: readonly Route[];
  /** False if endpoints are missing that a rule may be about. */
  readonly isWhole: boolean;
  readonly identity: Pick<IdentityConfig, "operatorCertificates">;
  readonly tls: Pick<TlsConfig, "clientAuth">;
  /** True if operators can also decide at the console, which needs no client certificate. */
  readonly hasConsole: boolean;
}

/** The compiled rules, and the problems found in them. */
export interface CompiledApprovals {
  readonly policy: ApprovalPolicy;
  readonly problems: readonly Problem[];
}

/** Compiles and checks the rules, one route a step. */
export function* compilingApprovalPolicy(
  rules: readonly ApprovalRule[],
  context: ApprovalContext,
): Paced<CompiledApprovals> {
  const problems: Problem[] = [];
  const resolved = rules.map((rule, index) => {
    const place = { file: context.file, key: keyOf(index) };
    problems.push(...checkRule(rule, place, context));
    return resolveAgent(rule, context);
  });
  const policy = new ApprovalPolicy(resolved);
  const isSound = problems.length === 0;
  for (const index of isSound ? resolved.keys() : []) {
    const problem = yield* checkReach(index, resolved, policy, context);
    if (problem !== undefined) problems.push(problem);
  }
  return { policy, problems: [...problems, ...(yield* checkOperators(policy, context))] };
}

function keyOf(index: number): string {
  return `policies.approvals[${index}]`;
}

function resolveAgent(rule: ApprovalRule, { directory }: ApprovalContext): ApprovalRule {
  if (rule.agent === undefined) return rule;
  return { ...rule, agent: directory.resolve(rule.agent)?.agentId ?? rule.agent };
}

function checkRule(
  { method, path, agent }: ApprovalRule,
  { file, key }: Pick<Problem, "file" | "key">,
  { names, methodPolicy, directory }: ApprovalContext,
): readonly Problem[] {
  const problems: Problem[] = [];
  const tell = (name: string, message: string, hint?: string): void => {
    problems.push({ file, key: `${key}.${name}`, message, hint });
  };
  if (method !== undefined && !methodPolicy.isKnown(method)) {
    tell("method", `no method is called "${method}"`, hintOf(methodPolicy.closeMatches(method)));
  }
  const target = method === undefined ? undefined : methodPolicy.alias(method)?.method;
  if (target !== undefined) {
    tell("method", `can never match: "${method}" is another name of ${target}, which is answered`);
  }
  const fault = path === undefined ? undefined : checkTemplate(path, names);
  if (fault !== undefined) tell("path", fault.message);
  // A misspelt agent would silently disable the exception or the demand.
  if (agent !== undefined && directory.resolve(agent) === undefined && !isAgentId(agent)) {
    tell("agent", `can never match: no agent is called "${agent}"`);
  }
  return problems;
}

/** Reports an unreachable rule as an error, and one that matches no endpoint yet as a warning. */
function* checkReach(
  index: number,
  rules: readonly ApprovalRule[],
  policy: ApprovalPolicy,
  { file, routes, isWhole }: ApprovalContext,
): Paced<Problem | undefined> {
  const rule = rules[index];
  const place = { file, key: keyOf(index) };
  const before = rules
    .slice(0, index)
    .findIndex((one) => rule !== undefined && includes(one, rule));
  if (before !== -1) {
    return { ...place, message: `can never match: ${keyOf(before)} matches all that it would` };
  }
  if (!isWhole) return undefined;
  const matched = yield* findPaced(routes, (route) => policy.canMatch(index, route));
  if (matched !== undefined) return undefined;
  return { ...place, message: "matches no endpoint that is served", severity: "warning" };
}

/** Tells whether one rule matches every call that another matches. */
function includes(wide: ApprovalRule, narrow: ApprovalRule): boolean {
  for (const name of ["impact", "method", "agent"] as const) {
    if (wide[name] !== undefined && wide[name] !== narrow[name]) return false;
  }
  if (wide.scope !== undefined) {
    if (narrow.scope === undefined || !covers([wide.scope], narrow.scope)) return false;
  }
  if (wide.path === undefined) return true;
  if (narrow.path === undefined) return false;
  return compilePathPattern(wide.path).covers(compilePathPattern(narrow.path));
}

/** Warns where no operator can decide: such calls wait for ever, which is safe, so it is no error. */
function* checkOperators(
  policy: ApprovalPolicy,
  { file, identity, tls, hasConsole, routes }: ApprovalContext,
): Paced<readonly Problem[]> {
  if (hasConsole) return [];
  const waiting = yield* findPaced(routes, (route) => policy.isGoverning(route));
  if (waiting === undefined) return [];
  const pair = `${waiting.method} ${waiting.path}`;
  const why = `so nobody can decide what ${pair} asks for`;
  if (identity.operatorCertificates.length === 0) {
    const key = "policies.identity.operator_certificates";
    return [{ file, key, message: `is empty, ${why}`, severity: "warning" }];
  }
  if (tls.clientAuth !== "none") return [];
  const message = `"none" asks no operator for a certificate, ${why}`;
  return [{ file, key: "tls.client_auth", message, severity: "warning" }];
}
