/**
 * Endpoints whose method is another name, so that no request comes to them, and redirects that lead to none: told when
 * the files are read, as a caller learns nothing of either. A method that is not allowed was meant to be.   AGTP-API §9.2
 */
import type { Paced } from "../../base/paced.ts";
import type { Problem } from "../../base/problem.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Route } from "../routes/route.ts";
import { type MethodPolicy, resolveMethod } from "./method-policy.ts";
import type { Redirect } from "./policies-section.ts";

/** Endpoints as they are served, and the policy that is asked before them. */
interface ServedEndpoints {
  readonly policy: Pick<MethodPolicy, "alias">;
  /** The routes of endpoint files. */
  readonly routes: readonly Route[];
  readonly registry: Pick<EndpointRegistry<Route>, "find">;
  /** As they are configured, in `file`. */
  readonly redirects: readonly Redirect[];
  readonly file: string;
}

/** Warns of each, an endpoint a step. */
export function* warningOfUnreached(served: ServedEndpoints): Paced<readonly Problem[]> {
  const { policy, routes, registry, redirects, file } = served;
  const warnings: Problem[] = [];
  for (const { method, definition } of routes) {
    yield;
    const target = resolveMethod(policy, method);
    if (target === method) continue;
    const message = `is never reached: [policies.methods] has "${method}" as another name of ${target}`;
    warnings.push({ file: definition.file, key: "endpoint.method", message, severity: "warning" });
  }
  for (const [index, { fromPath, toMethod: method, toPath = fromPath }] of redirects.entries()) {
    if (toPath === undefined || registry.find(method, toPath) !== undefined) continue;
    const message = `leads to ${method} ${toPath}, which no endpoint answers`;
    const key = `policies.methods.redirects[${index}]`;
    warnings.push({ file, key, message, severity: "warning" });
  }
  return warnings;
}
