/**
 * The endpoints as synthesis looks at them: what they take and give by name and kind, and which
 * output can be which input. Properties of one name and one kind are the same to it, so ten
 * thousand endpoints have few of them.
 */
import type { SpreadMap } from "../../../base/spread-map.ts";
import type { EndpointDefinition, Impact } from "../../../endpoint/endpoint.ts";
import type { LogSubject } from "../../../endpoint/synthesis-log.ts";
import type { DistinctProperty } from "./property-table.ts";

/** A property that endpoints take. */
export interface Input extends DistinctProperty {
  readonly id: number;
  /** The endpoints that require it. */
  readonly takers: readonly IndexedEndpoint[];
  /** The outputs that can be it. */
  readonly sources: ReadonlySet<Output>;
}

/** A property that endpoints give. */
export interface Output extends DistinctProperty {
  readonly id: number;
  /** The endpoints whose every answer has it. */
  readonly givers: readonly IndexedEndpoint[];
  /** The endpoints whose answers may lack it. */
  readonly occasional: readonly IndexedEndpoint[];
  /** The inputs that it can be. */
  readonly sinks: readonly Input[];
}

/** An endpoint as a step. */
export interface IndexedEndpoint {
  /** The place of the endpoint by method, then path. */
  readonly index: number;
  /** A number that endpoints share which take and give the same, with the same impact. */
  readonly sort: number;
  readonly definition: EndpointDefinition;
  readonly impact: Impact;
  readonly required: readonly Input[];
  readonly optional: readonly Input[];
  /** The parts that every answer has. */
  readonly outputs: readonly Output[];
  /** The parts that some answers have. */
  readonly occasional: readonly Output[];
  /** The inputs that every answer can be, of which none is there twice. */
  readonly feeds: readonly Input[];
  /** The reason why no plan may count on the endpoint. */
  readonly fault: string | undefined;
}

/** The endpoints in their order, and the properties by name. */
export interface EndpointIndex {
  readonly endpoints: readonly IndexedEndpoint[];
  readonly byMethod: ReadonlyMap<string, readonly IndexedEndpoint[]>;
  /** The number of inputs that each endpoint requires, by place. */
  readonly requiredCounts: Int32Array;
  /** The impact of each endpoint that every agent may use, by place; -1 for others. */
  readonly openImpacts: Int8Array;
  /** The endpoints that require nothing. */
  readonly undemanding: readonly IndexedEndpoint[];
  readonly inputCount: number;
  readonly inputs: Pick<SpreadMap<readonly Input[]>, "get">;
  readonly outputs: Pick<SpreadMap<readonly Output[]>, "get">;
}

/** The subject of what a log says about an endpoint. */
export function subjectOf({ definition: { method, path } }: IndexedEndpoint): LogSubject {
  return { method, path };
}

/** The order by method, then path: the same on every machine. */
export function comparePairs(a: EndpointDefinition, b: EndpointDefinition): number {
  return compareTexts(a.method, b.method) || compareTexts(a.path, b.path);
}

/** The order of texts by their code units. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
