/** The endpoints that are served, each with its contract and schemas. */
import type { AssembledDeployment } from "../../../dispatch/module/module.ts";
import type { RegisteredRoute } from "../../../dispatch/routes/route.ts";
import { projectEndpoint } from "../../../endpoint/project.ts";
import type { ApiRequest, ApiRoute } from "../console-api.ts";
import { unknown } from "../console-fault.ts";

/** `GET /api/endpoints` and `/api/endpoints/{METHOD}/{PATH}` */
export function endpointRoutes(served: () => AssembledDeployment): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/endpoints",
      answer: () => ({ endpoints: served().listed.map(viewOf) }),
    },
    {
      method: "GET",
      path: "/endpoints/:method/*",
      answer: ({ params }) => {
        const route = namedEndpoint(served(), params);
        const { definition } = route;
        return {
          endpoint: { ...viewOf(route), ...projectEndpoint(definition) },
          input_schema: definition.inputSchema,
          output_schema: definition.outputSchema,
        };
      },
    },
  ];
}

/** The endpoint that an address of the interface names. @throws ConsoleFault */
export function namedEndpoint(
  { listed }: AssembledDeployment,
  params: ApiRequest["params"],
): RegisteredRoute {
  const { method = "", "*": rest = "" } = params;
  const route = findEndpoint(listed, { method, path: `/${rest}` });
  if (route === undefined) throw unknown("endpoint");
  return route;
}

/** The endpoint of a method and a path, as it is registered. */
export function findEndpoint(
  listed: AssembledDeployment["listed"],
  { method, path }: Pick<RegisteredRoute, "method" | "path">,
): RegisteredRoute | undefined {
  return listed.find((one) => one.method === method && one.path === path);
}

function viewOf({ method, path, tier, definition }: RegisteredRoute): object {
  const { description, semantic, requiredScopes, approval, deprecated, file } = definition;
  return {
    ...{ method, path, description, tier, impact: semantic.impact },
    is_idempotent: semantic.is_idempotent,
    required_scopes: requiredScopes,
    approval: approval ?? null,
    deprecated: deprecated !== undefined,
    file,
  };
}
