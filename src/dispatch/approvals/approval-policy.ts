/**
 * Decides which calls need an approval: calls of endpoints that demand one, and calls whose first
 * matching rule of `[[policies.approvals]]` does. The protocol's own methods need none, except
 * those that start agents of this server: if CONFIRM needed an approval, nobody could ever give
 * one.   docs/approvals.md
 */

import { coerce } from "../../endpoint/input.ts";
import {
  compilePathPattern,
  compileTemplate,
  type PathPattern,
  type SegmentReading,
} from "../../endpoint/path-template.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import { covers } from "../../identity/authority-scope.ts";
import { canonicalDigest } from "../../identity/canonical-form.ts";
import type { Caller } from "../caller/caller.ts";
import type { ApprovalRule } from "../policy/policies-section.ts";
import type { Route } from "../routes/route.ts";

/** The approval that a call needs, with its time to live. */
export interface ApprovalNeed {
  readonly ttlMs: number;
}

/** The versions of endpoint and policy that an approval is bound to, besides the call itself. */
export interface GovernedVersions {
  readonly endpoint_version: string;
  readonly policy_version: string;
}

type Governed = Pick<
  Route,
  "method" | "path" | "tier" | "startsWork" | "steps" | "definition" | "shape"
>;

interface CompiledRule extends ApprovalRule {
  readonly pattern: PathPattern | undefined;
}

/** The time to live of an approval where no rule sets one. */
const USUAL_TTL_SECONDS = 3_600;
/** The tier A methods that start an agent's work; later calls about a run only continue it. */
const STARTING: ReadonlySet<string> = new Set(["EXECUTE", "FORK"]);

export class ApprovalPolicy {
  readonly #rules: readonly CompiledRule[];
  /** The rules that can match a call of a route, by route. */
  readonly #matching = new WeakMap<Governed, readonly CompiledRule[]>();
  readonly #versions = new WeakMap<Governed, GovernedVersions>();
  readonly #readings = new WeakMap<Governed, SegmentReading>();

  /** Takes rules whose agents are resolved to Agent-IDs. */
  constructor(rules: readonly ApprovalRule[]) {
    this.#rules = rules.map((rule) => ({
      ...rule,
      pattern: rule.path === undefined ? undefined : compilePathPattern(rule.path),
    }));
  }

  /** Returns the approval that a call needs; undefined if it needs none. */
  needFor(route: Governed, caller: Caller, path: string): ApprovalNeed | undefined {
    const own = ownApproval(route);
    if (own === undefined && this.#rules.length === 0) return undefined;
    const rule = this.#rulesOf(route, caller).find(
      ({ pattern }) => pattern === undefined || pattern.matches(path, this.#readingOf(route)),
    );
    if (rule?.approval === "operator") return { ttlMs: rule.ttlSeconds * 1000 };
    return own === undefined ? undefined : { ttlMs: USUAL_TTL_SECONDS * 1000 };
  }

  /** Tells whether a call may need an approval when only this template of its path is known. */
  mayNeed(route: Governed, caller: Caller, template: string): boolean {
    if (ownApproval(route) !== undefined) return true;
    for (const { pattern, approval } of this.#rulesOf(route, caller)) {
      if (pattern !== undefined && !pattern.canMatch(template)) continue;
      if (approval === "operator") return true;
      if (pattern === undefined) return false;
    }
    return false;
  }

  /** Tells whether any call of a route may need an approval. */
  isGoverning(route: Governed): boolean {
    const isRuled = this.#staticRulesOf(route).some(({ approval }) => approval === "operator");
    return isRuled || ownApproval(route) !== undefined;
  }

  /** Tells whether the rule at this index can match any call of a route. */
  canMatch(index: number, route: Governed): boolean {
    return this.#staticRulesOf(route).some((rule) => rule === this.#rules[index]);
  }

  /** Returns the versions that an approval for a call of this route is valid for. */
  versionsOf(route: Governed): GovernedVersions {
    const known = this.#versions.get(route);
    if (known !== undefined) return known;
    const { tier, steps, definition } = route;
    // The manifest lists no contracts, so only the plan distinguishes two contracts for one pair.
    const plan = tier === "C" ? { steps } : {};
    const rules = this.#rules.map(({ pattern: _, ...rule }) => rule);
    const versions = {
      endpoint_version: canonicalDigest({ ...projectEndpoint(definition), ...plan }),
      policy_version: canonicalDigest({ rules, endpoint: ownApproval(route) ?? null }),
    };
    this.#versions.set(route, versions);
    return versions;
  }

  #rulesOf(route: Governed, { document, agentId }: Caller): readonly CompiledRule[] {
    const caller = document?.agentId ?? agentId;
    return this.#staticRulesOf(route).filter(
      ({ agent }) => agent === undefined || agent === caller,
    );
  }

  /** Reads path segments as the handler does: `7.0` is 7 where a number is declared. */
  #readingOf(route: Governed): SegmentReading {
    const known = this.#readings.get(route);
    if (known !== undefined) return known;
    const parameters = compileTemplate(route.path)?.parameters ?? [];
    const names = new Map(parameters.map(({ name, index }) => [index, name]));
    const reading: SegmentReading = (text, index) => {
      const name = names.get(index);
      return name === undefined ? text : coerce(route.shape, name, text);
    };
    this.#readings.set(route, reading);
    return reading;
  }

  #staticRulesOf(route: Governed): readonly CompiledRule[] {
    const known = this.#matching.get(route);
    if (known !== undefined) return known;
    const rules = isGoverned(route) ? this.#rules.filter((rule) => isAbout(rule, route)) : [];
    this.#matching.set(route, rules);
    return rules;
  }
}

function isGoverned({ tier, startsWork, method }: Governed): boolean {
  if (method === "CONFIRM") return false;
  return tier !== "A" || (startsWork && STARTING.has(method));
}

function ownApproval({ definition }: Governed): "operator" | undefined {
  return definition.approval;
}

function isAbout(
  { impact, method, scope, pattern }: CompiledRule,
  { method: answered, path, definition }: Governed,
): boolean {
  if (impact !== undefined && impact !== definition.semantic.impact) return false;
  if (method !== undefined && method !== answered) return false;
  if (pattern !== undefined && !pattern.canMatch(path)) return false;
  return scope === undefined || definition.requiredScopes.some((one) => covers([scope], one));
}
