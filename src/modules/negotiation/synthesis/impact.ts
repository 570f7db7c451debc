/**
 * The impact of calling an endpoint. A value may fill its path template so that a more literal sibling answers, so the
 * stronger impact counts.   AGTP-API §5.4, §7.1
 */
import { addUnder } from "../../../base/listed.ts";
import type { Paced } from "../../../base/paced.ts";
import { type EndpointDefinition, IMPACTS, type Impact } from "../../../endpoint/endpoint.ts";
import { compileTemplate } from "../../../endpoint/path-template.ts";

/** Tells whether one impact is stronger than another. */
export function isStronger(impact: Impact, than: Impact): boolean {
  return IMPACTS.indexOf(impact) > IMPACTS.indexOf(than);
}

/** The strongest of several impacts; informational if there are none. */
export function strongestImpact(impacts: Iterable<Impact>): Impact {
  let strongest: Impact = "informational";
  for (const impact of impacts) if (isStronger(impact, strongest)) strongest = impact;
  return strongest;
}

interface ImpactPath {
  readonly segments: readonly string[];
  readonly parameters: number;
  readonly impact: Impact;
}

/** Returns a function that gives an endpoint's impact, including more literal siblings. */
export function* compilingImpacts(
  endpoints: readonly EndpointDefinition[],
): Paced<(endpoint: EndpointDefinition) => Impact> {
  // Informational endpoints cannot raise an impact, and the rest share few methods.
  const notable = new Map<string, ImpactPath[]>();
  for (const endpoint of endpoints) {
    yield;
    const route = routeOf(endpoint);
    if (route.impact === "informational") continue;
    addUnder(notable, keyOf(endpoint, route), route);
  }
  return (endpoint) => {
    const route = routeOf(endpoint);
    if (route.parameters === 0) return route.impact;
    const siblings = notable.get(keyOf(endpoint, route)) ?? [];
    const reached = siblings.filter((other) => isMoreLiteral(other, route));
    return strongestImpact([route.impact, ...reached.map(({ impact }) => impact)]);
  };
}

function routeOf({ path, semantic }: EndpointDefinition): ImpactPath {
  const segments = path.slice(1).split("/");
  const parameters = compileTemplate(path)?.parameters.length ?? 0;
  return { segments, parameters, impact: semantic.impact };
}

function keyOf({ method }: EndpointDefinition, { segments }: ImpactPath): string {
  return `${method} ${segments.length}`;
}

/** Tells whether `other` may answer a path that matches `route`. */
function isMoreLiteral(other: ImpactPath, route: ImpactPath): boolean {
  return (
    other.parameters < route.parameters &&
    other.segments.every((segment, at) => {
      const own = route.segments[at] ?? "";
      return segment === own || segment.startsWith("{") || own.startsWith("{");
    })
  );
}
