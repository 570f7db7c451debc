/** An endpoint in words: what it does, what it needs, and how to call it.   AGTP "QUERY" format */
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import type { Access } from "./entry.ts";
import type { ExampleRequest } from "./example-request.ts";
import { memberInWords } from "./schema-words.ts";

/** All that there is to say. */
export interface ToldEndpoint extends Pick<Access, "missingScopes" | "obstacles"> {
  readonly definition: EndpointDefinition;
  readonly request: ExampleRequest | undefined;
}

/** A paragraph that is enough to call the endpoint by. */
export function endpointInWords(told: ToldEndpoint): string {
  const { definition, request } = told;
  const { method, path, description, semantic, deprecated } = definition;
  return [
    `${method} ${path}: ${sentence(description)}`,
    semantic.outcome === description ? "" : sentence(semantic.outcome),
    `It is ${semantic.impact}.`,
    inputInWords(definition),
    errorsInWords(definition),
    accessInWords(told),
    deprecated === undefined ? "" : `It is deprecated since ${deprecated.deprecated_in}.`,
    request === undefined ? "" : `Example: ${exampleInWords(request)}`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function inputInWords({ inputSchema }: EndpointDefinition): string {
  const properties = Object.entries(propertiesOf(inputSchema));
  const list: readonly unknown[] = Array.isArray(inputSchema["required"])
    ? inputSchema["required"]
    : [];
  const tell = (isRequired: boolean): string =>
    properties
      .filter(([name]) => list.includes(name) === isRequired)
      .map(([name, property]) => memberInWords(name, property))
      .join("; ");
  const [required, optional] = [tell(true), tell(false)];
  return [
    required === "" ? "" : `It requires ${required}.`,
    optional === "" ? "" : `It takes ${optional}.`,
  ]
    .filter((part) => part !== "")
    .join(" ");
}

function errorsInWords({ errors }: EndpointDefinition): string {
  return errors.length === 0 ? "" : `It may answer ${errors.join(", ")}.`;
}

function accessInWords({ definition, missingScopes, obstacles }: ToldEndpoint): string {
  const { requiredScopes } = definition;
  const needed = requiredScopes.length === 0 ? "" : `It needs ${requiredScopes.join(", ")}. `;
  if (obstacles.length === 0) return `${needed}You can call it.`;
  const missing = missingScopes.length === 0 ? "" : `, missing ${missingScopes.join(", ")}`;
  return `${needed}You cannot call it as you are: ${obstacles.join(", ")}${missing}.`;
}

function exampleInWords({ method, path, body }: ExampleRequest): string {
  return `${method} ${path} ${JSON.stringify(body)}`;
}
