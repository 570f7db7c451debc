/**
 * One proposal against the index: its offers, its wanted outputs and the endpoints that its agent may use. Nothing of
 * it outlives the plan.
 */
import { IMPACTS, type Impact } from "../../../endpoint/endpoint.ts";
import type { PlanLimits, Proposal, ScopeCheck } from "../../../endpoint/synthesis-plan.ts";
import type { EndpointIndex, IndexedEndpoint, Input, Output } from "./endpoint-index.ts";
import { isStronger } from "./impact.ts";
import { isOpen, membersOf } from "./object-members.ts";
import { isKindCovered, type KnownLists, kindOfSchema, type SchemaKind } from "./schema-kind.ts";

/** A wanted output. */
export interface Ask {
  readonly name: string;
  /** True if every answer must have it. */
  readonly isRequired: boolean;
  /** The outputs that fit it. */
  readonly outputs: ReadonlySet<Output>;
}

/** The bounds of one planning attempt. */
export interface SynthesisBounds {
  readonly authority: ScopeCheck;
  /** The strongest impact allowed for a step. */
  readonly impact: Impact;
  /** The maximum number of steps, at most the policy's. */
  readonly maxSteps: number;
  /** Tells whether a step may be this endpoint; by default any may. */
  readonly allows?: PlanLimits["allows"];
}

/** How often calls include an input. */
type OfferState = "no" | "sometimes" | "always";

const OFFER_STATES: readonly OfferState[] = ["no", "sometimes", "always"];
const UNKNOWN = 0;
const USABLE = 1;
const UNUSABLE = 2;

/** A proposal as synthesis sees it. */
export class SynthesisTask {
  readonly index: EndpointIndex;
  readonly proposal: Proposal;
  /** The names of the proposed inputs. */
  readonly offers: readonly string[];
  /** The endpoint inputs that the proposal offers. */
  readonly offered: readonly Input[];
  /** The outputs to cover: the required ones or, if there are none, all. */
  readonly asks: readonly Ask[];
  /** Optional outputs. */
  readonly wishes: readonly Ask[];
  /** True if the answer may have further members. */
  readonly isOpen: boolean;
  readonly #bounds: SynthesisBounds;
  readonly #impactRank: number;
  /** The index into `OFFER_STATES` of each input, by its id. */
  readonly #offerStates: Uint8Array;
  readonly #usable: Uint8Array;
  #isHeldByImpact = false;

  /** Reads a proposal; `asks` overrides its wanted outputs. */
  constructor(
    index: EndpointIndex,
    proposal: Proposal,
    bounds: SynthesisBounds,
    asks?: readonly Ask[],
  ) {
    this.index = index;
    this.proposal = proposal;
    this.#bounds = bounds;
    this.#impactRank = IMPACTS.indexOf(bounds.impact);
    this.#offerStates = new Uint8Array(index.inputCount);
    this.#usable = new Uint8Array(index.endpoints.length);
    this.isOpen = isOpen(proposal.outputSchema);
    const named = asks ?? readAsks(proposal, index);
    const required = named.filter(({ isRequired }) => isRequired);
    this.asks = required.length > 0 ? required : named;
    this.wishes = named.filter((ask) => !this.asks.includes(ask));
    const { offers, offered } = readOffers(proposal, index);
    this.offers = offers;
    this.offered = offered.map(({ input }) => input);
    for (const { input, state } of offered) {
      this.#offerStates[input.id] = OFFER_STATES.indexOf(state);
    }
  }

  offerOf({ id }: Input): OfferState {
    return OFFER_STATES[this.#offerStates[id] ?? 0] ?? "no";
  }

  isOffered({ id }: Input): boolean {
    return this.#offerStates[id] !== 0;
  }

  /** True if an endpoint was only ruled out by its impact. */
  get isHeldByImpact(): boolean {
    return this.#isHeldByImpact;
  }

  /** Tells whether this agent's plan may use an endpoint. */
  isUsable(endpoint: IndexedEndpoint): boolean {
    if (this.#bounds.allows?.(endpoint.definition) === false) return false;
    const open = this.index.openImpacts[endpoint.index] ?? -1;
    if (open >= 0 && open <= this.#impactRank) return true;
    const known = this.#usable[endpoint.index] ?? UNKNOWN;
    if (known !== UNKNOWN) return known === USABLE;
    const isUsable = this.#judge(endpoint);
    this.#usable[endpoint.index] = isUsable ? USABLE : UNUSABLE;
    return isUsable;
  }

  #judge({ definition, fault, impact }: IndexedEndpoint): boolean {
    const { authority, impact: allowed } = this.#bounds;
    if (fault !== undefined) return false;
    if (!definition.requiredScopes.every((scope) => authority.covers(scope))) return false;
    const isWithin = !isStronger(impact, allowed);
    if (!isWithin) this.#isHeldByImpact = true;
    return isWithin;
  }

  /** Returns the reason that this agent's plan may not use an endpoint. */
  obstacle({ definition, fault, impact }: IndexedEndpoint): string | undefined {
    if (fault !== undefined) return fault;
    const { authority, impact: allowed, allows } = this.#bounds;
    if (allows?.(definition) === false) return "no step may be this endpoint";
    const missing = definition.requiredScopes.filter((scope) => !authority.covers(scope));
    if (missing.length > 0) return `the agent does not hold ${missing.join(", ")}`;
    if (!isStronger(impact, allowed)) return undefined;
    return `its impact is ${impact}, and no more than ${allowed} was proposed`;
  }
}

/** The endpoints that give a wanted output, usable or not. */
export function giversOf({ outputs, isRequired }: Ask): readonly IndexedEndpoint[] {
  return [...outputs].flatMap(({ givers, occasional }) =>
    isRequired ? givers : [...givers, ...occasional],
  );
}

/** Tells whether an endpoint gives a wanted output, always if it is required. */
export function gives(
  { outputs, occasional }: IndexedEndpoint,
  ask: Pick<Ask, "outputs" | "isRequired">,
): boolean {
  return (
    outputs.some((output) => ask.outputs.has(output)) ||
    (!ask.isRequired && occasional.some((output) => ask.outputs.has(output)))
  );
}

interface OfferedInput {
  readonly input: Input;
  readonly state: OfferState;
}

function readOffers(
  { inputSchema }: Proposal,
  index: EndpointIndex,
): { readonly offers: readonly string[]; readonly offered: readonly OfferedInput[] } {
  const { properties, required } = membersOf(inputSchema);
  const offers: string[] = [];
  const offered: OfferedInput[] = [];
  const lists: KnownLists = new Map();
  for (const [name, property] of properties) {
    const kind = kindOfSchema(property, inputSchema, lists);
    // A property without possible values is never sent.
    if (kind?.size === 0) continue;
    offers.push(name);
    const state = required.has(name) ? "always" : "sometimes";
    for (const input of index.inputs.get(name) ?? []) {
      if (isKindCovered(kind, input.kind)) offered.push({ input, state });
    }
  }
  return { offers, offered };
}

function readAsks({ outputSchema }: Proposal, index: EndpointIndex): readonly Ask[] {
  const { properties, required } = membersOf(outputSchema);
  const lists: KnownLists = new Map();
  return Array.from(properties, ([name, property]): Ask & { kind: SchemaKind | undefined } => {
    const kind = kindOfSchema(property, outputSchema, lists);
    const fitting = (index.outputs.get(name) ?? []).filter((output) =>
      isKindCovered(output.kind, kind),
    );
    return { name, kind, isRequired: required.has(name), outputs: new Set(fitting) };
  }).filter(({ kind, isRequired }) => isRequired || kind?.size !== 0);
}
