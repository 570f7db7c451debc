/**
 * Decides which calls need an approval: those of endpoints that say so themselves, and those that a
 * rule of `[[policies.approvals]]` matches first. The protocol's own methods need none, except for
 * starting the agents of this server: nobody could decide if CONFIRM needed an approval itself.
 * docs/approvals.md
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

/** The approval that a call needs. */
export interface ApprovalNeed {
  readonly ttlMs: number;
}

/** The versions that an approval is bound to beside the call. */
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

/** The time for an approval where no rule says how long. */
const USUAL_TTL_SECONDS = 3_600;
/** Tier A: what starts work of an agent; the rest of a run is about work that was begun. */
const STARTING: ReadonlySet<string> = new Set(["EXECUTE", "FORK"]);

export class ApprovalPolicy {
  readonly #rules: readonly CompiledRule[];
  /** By route, those that can match a call of it. */
  readonly #matching = new WeakMap<Governed, readonly CompiledRule[]>();
  readonly #versions = new WeakMap<Governed, GovernedVersions>();
  readonly #readings = new WeakMap<Governed, SegmentReading>();

  /** Rules name agents by their Agent-IDs here. */
  constructor(rules: readonly ApprovalRule[]) {
    this.#rules = rules.map((rule) => ({
      ...rule,
      pattern: rule.path === undefined ? undefined : compilePathPattern(rule.path),
    }));
  }

  /** The parts that a call needs; undefined: no approval. */
  needFor(route: Governed, caller: Caller, path: string): ApprovalNeed | undefined {
    const own = ownApproval(route);
    if (own === undefined && this.#rules.length === 0) return undefined;
    const rule = this.#rulesOf(route, caller).find(
      ({ pattern }) => pattern === undefined || pattern.matches(path, this.#readingOf(route)),
    );
    if (rule?.approval === "operator") return { ttlMs: rule.ttlSeconds * 1000 };
    return own === undefined ? undefined : { ttlMs: USUAL_TTL_SECONDS * 1000 };
  }

  /** Tells whether a call may need one, whose path is known no better than this template. */
  mayNeed(route: Governed, caller: Caller, template: string): boolean {
    if (ownApproval(route) !== undefined) return true;
    for (const { pattern, approval } of this.#rulesOf(route, caller)) {
      if (pattern !== undefined && !pattern.canMatch(template)) continue;
      if (approval === "operator") return true;
      if (pattern === undefined) return false;
    }
    return false;
  }

  /** Tells whether some call of a route may need one. */
  isGoverning(route: Governed): boolean {
    const isRuled = this.#staticRulesOf(route).some(({ approval }) => approval === "operator");
    return isRuled || ownApproval(route) !== undefined;
  }

  /** Tells whether a rule can match some call of a route. */
  canMatch(index: number, route: Governed): boolean {
    return this.#staticRulesOf(route).some((rule) => rule === this.#rules[index]);
  }

  /** The versions that an approval for a call of this route is good for. */
  versionsOf(route: Governed): GovernedVersions {
    const known = this.#versions.get(route);
    if (known !== undefined) return known;
    const { tier, steps, definition } = route;
    // No manifest shows a contract: its plan is all that tells it from another one for the pair.
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

  /** As the handler has it: `7.0` is 7 where a number is declared. */
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
