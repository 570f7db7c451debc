/**
 * The secrets that this server knows: credentials in its configuration, in its endpoints' upstream
 * header fields, and in environment variables that are named as such. Each has a name that may be
 * shown in its place.   OpenWOP SR-1
 */
import type { Environment } from "../../base/environment.ts";
import { mapPaced, type Paced } from "../../base/paced.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { OpenwopSections } from "./config.ts";
import type { KnownSecret } from "./redaction.ts";

const SECRET_VARIABLE =
  /(?:^|_)(?:API_?KEY|ACCESS_KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/i;
/** Such fields begin with a scheme, and the secret is what comes after it. */
const SCHEME = /^(?:Bearer|Basic|Token|ApiKey)\s+/i;
const SECRET_FIELD = /authorization|cookie|key|token|secret|password/i;
/** A path to a file is written down in places that everybody sees. */
const PATH = /^[./~]/;

/** Every secret, the environment's first: its names are what an operator knows them by. */
export function* collectingSecrets(
  config: OpenwopSections,
  env: Environment,
  endpoints: Iterable<{ readonly definition: EndpointDefinition }>,
): Paced<readonly KnownSecret[]> {
  const known = [...environmentSecrets(env), ...fromConfig(config)];
  yield* mapPaced(endpoints, ({ definition }) => known.push(...fromEndpoint(definition)));
  return known;
}

/** The secrets among environment variables. */
export function environmentSecrets(env: Environment): readonly KnownSecret[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isSecret(name, value) ? [{ name, value }] : [],
  );
}

/** A shorter text may be a word: `TOKEN_MODE=header`. */
function isSecret(name: string, value: string): boolean {
  return value.length >= 8 && SECRET_VARIABLE.test(name) && !PATH.test(value);
}

function fromConfig({ webhooks, store, openwop }: OpenwopSections): readonly KnownSecret[] {
  return [
    ...named("webhooks.secret", webhooks.secret),
    ...named("openwop.runtime.api_key", openwop.runtime.apiKey),
    ...named("store.url", passwordOf(store.url)),
  ];
}

function passwordOf(url: string | undefined): string | undefined {
  return url === undefined || !URL.canParse(url) ? undefined : new URL(url).password;
}

function fromEndpoint({ method, path, handler }: EndpointDefinition): readonly KnownSecret[] {
  if (handler.type !== "external_service") return [];
  return Object.entries(handler.headers).flatMap(([field, value]) =>
    SECRET_FIELD.test(field) ? named(`${method} ${path} ${field}`, value.replace(SCHEME, "")) : [],
  );
}

function named(name: string, value: string | undefined): readonly KnownSecret[] {
  return value !== undefined && value !== "" ? [{ name, value }] : [];
}
