/**
 * Looks ahead at the dispatches of a composition: a step that needs its own approval fails the
 * composition before it starts, because nobody could approve the rest of a half-finished call. A
 * step that is not yet known is judged by every route that it may reach.   docs/approvals.md
 */

import type { Paced } from "../../base/paced.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import type { Pair } from "../../catalog/pair.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { compilePathPattern } from "../../endpoint/path-template.ts";
import type { RecipeStep } from "../../endpoint/recipe.ts";
import { isTemplate } from "../../handlers/check-composition.ts";
import { foreseeStep, type KnownInput } from "../../handlers/composition.ts";
import { splitTarget } from "../../wire/message.ts";
import type { Exchange } from "../exchange.ts";
import { canonicalPair, type MethodPolicy } from "../policy/method-policy.ts";
import { namedError, type Refusal } from "../refusals/refusal.ts";
import type { Route } from "../routes/route.ts";
import type { ApprovalPolicy } from "./approval-policy.ts";

/** The policies and the endpoints that the steps may reach. */
interface StepsAheadParts {
  readonly policy: ApprovalPolicy;
  readonly registry: Pick<EndpointRegistry<Route>, "find" | "entries">;
  readonly methodPolicy: Pick<MethodPolicy, "alias" | "redirect">;
}

type Asker = Pick<Exchange, "caller">;

/** The depth limit of dispatches. */
const MAX_DEPTH = 16;
const MAX_PAIRS = 1_000;

export class StepsAhead {
  readonly #parts: StepsAheadParts;
  /** The routes that a pair with parameters may reach. Bounded, since proposals bring their own pairs. */
  readonly #candidates = recentlyUsed<readonly Route[]>(MAX_PAIRS);
  /** False if no route ever needs an approval, so that no look-ahead is made. */
  readonly #isNeeded: boolean;

  private constructor(parts: StepsAheadParts, isNeeded: boolean) {
    this.#parts = parts;
    this.#isNeeded = isNeeded;
  }

  /** Searches for a route that may need an approval, one route a step. */
  static *creating(parts: StepsAheadParts): Paced<StepsAhead> {
    for (const route of parts.registry.entries) {
      if (parts.policy.isGoverning(route)) return new StepsAhead(parts, true);
      yield;
    }
    return new StepsAhead(parts, false);
  }

  /** Refuses a composition with a step that would have to wait for an approval: 422. */
  refuse(route: Route, { caller, input }: Asker & Pick<Exchange, "input">): Refusal | undefined {
    if (!this.#isNeeded || route.steps === undefined) return undefined;
    const known = { input, isWhole: true };
    const index = route.steps.findIndex((step) => this.#needsApproval(step, known, { caller }, 0));
    const step = route.steps[index];
    return step && compositionFailed(route, index + 1, step);
  }

  #needsApproval(step: RecipeStep, known: KnownInput, asker: Asker, depth: number): boolean {
    const foreseen = foreseeStep(step, known);
    if (foreseen === undefined || depth > MAX_DEPTH) return false;
    return this.#pairNeedsApproval({ method: step.method, ...foreseen }, asker, depth);
  }

  #pairNeedsApproval(asked: Pair & KnownInput, asker: Asker, depth: number): boolean {
    const { policy, registry, methodPolicy } = this.#parts;
    const { caller } = asker;
    const { method, path } = canonicalPair(methodPolicy, { ...asked, ...splitTarget(asked.path) });
    if (isTemplate(path)) {
      const known = { input: asked.input, isWhole: false };
      return this.#candidatesFor({ method, path }).some(
        (route) => policy.mayNeed(route, caller, path) || this.#leadsOn(route, known, asker, depth),
      );
    }
    const match = registry.find(method, path);
    if (match === undefined) return false;
    if (policy.needFor(match.entry, caller, path) !== undefined) return true;
    const input = { ...asked.input, ...match.values };
    return this.#leadsOn(match.entry, { input, isWhole: asked.isWhole }, asker, depth);
  }

  /** Follows a nested composition, or the action that EXECUTE names. */
  #leadsOn(route: Route, known: KnownInput, asker: Asker, depth: number): boolean {
    const led = route.leadsTo?.(known.input, asker.caller.agentId);
    if (led !== undefined) return this.#pairNeedsApproval({ ...known, ...led }, asker, depth + 1);
    const steps = route.steps ?? [];
    return steps.some((step) => this.#needsApproval(step, known, asker, depth + 1));
  }

  #candidatesFor({ method, path }: Pair): readonly Route[] {
    const name = `${method} ${path}`;
    const known = this.#candidates.get(name);
    if (known !== undefined) return known;
    const pattern = compilePathPattern(path);
    const found = this.#parts.registry.entries.filter(
      (route) => route.method === method && pattern.canMatch(route.path),
    );
    this.#candidates.set(name, found);
    return found;
  }
}

function compositionFailed({ definition }: Route, index: number, step: RecipeStep): Refusal {
  const { method, path } = step;
  const { handler } = definition;
  const recipe = handler.type === "composition" ? handler.recipe : "";
  const message = "needs an approval of its own, and nothing was begun";
  const error = { code: "approval-required", message };
  return namedError("composition_failed", `step ${index} (${method} ${path}) ${message}`, {
    ...{ recipe, step: index, method, path, status: null, error, outputs: {} },
  });
}
