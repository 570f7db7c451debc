/** The health of the HTTP APIs behind endpoints, by the outcome of the calls to them. */
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";

/** One API, since the start of the process. */
export interface HttpHealth {
  readonly calls: number;
  readonly faults: number;
  /** By the last call: `answers`, or `failing` where the API was at fault. */
  readonly state: "answers" | "failing";
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The code of the last failure; undefined while there was none. */
  readonly fault?: string;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export class UpstreamHealth {
  readonly #byOrigin = new Map<string, Mutable<HttpHealth>>();
  readonly #byEndpoint = new WeakMap<EndpointDefinition, Mutable<HttpHealth>>();

  /** Notes a call that reached its handler; `code` is that of its refusal. */
  note(definition: EndpointDefinition, code: string | undefined, at: number): void {
    if (definition.handler.type !== "external_service") return;
    const health = this.#byEndpoint.get(definition) ?? this.#open(definition);
    if (health === undefined) return;
    const isFault = code?.startsWith("upstream_") === true;
    health.calls += 1;
    if (isFault) {
      health.faults += 1;
      health.fault = code;
    }
    health.state = isFault ? "failing" : "answers";
    health.at = at;
  }

  /** Undefined for an API that was not called yet. */
  of(origin: string): HttpHealth | undefined {
    return this.#byOrigin.get(origin);
  }

  /** Endpoints of one API have one account. */
  #open(definition: EndpointDefinition): Mutable<HttpHealth> | undefined {
    const { handler } = definition;
    if (handler.type !== "external_service" || !URL.canParse(handler.url)) return undefined;
    const { origin } = new URL(handler.url);
    const health = this.#byOrigin.get(origin) ?? { calls: 0, faults: 0, state: "answers", at: 0 };
    this.#byOrigin.set(origin, health);
    this.#byEndpoint.set(definition, health);
    return health;
  }
}
