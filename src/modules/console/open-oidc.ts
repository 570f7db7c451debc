/** Opens the way in by an OpenID provider. The provider is not asked before somebody signs in. */
import { relative } from "node:path";
import { quietened } from "../../base/back-off.ts";
import type { Problem } from "../../base/problem.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import type { ConsoleContext } from "./config.ts";
import { OidcAttempts } from "./oidc-attempts.ts";
import type { OidcFailure } from "./oidc-failure.ts";
import type { OidcParts } from "./oidc-routes.ts";
import type { ConsolePlace } from "./place.ts";
import type { Sessions } from "./sessions.ts";

/** The way in, and its end. */
export interface OpenedOidc {
  /** Undefined: there is none. */
  readonly oidc: OidcParts | undefined;
  readonly problems: readonly Problem[];
  close(): Promise<void>;
}

const NONE: OpenedOidc = { oidc: undefined, problems: [], close: async () => undefined };

/** Connects to nothing. */
export async function openOidc(
  context: ConsoleContext,
  { place, sessions }: { readonly place: ConsolePlace; readonly sessions: Sessions },
): Promise<OpenedOidc> {
  const { directory, file, console: section } = context.config;
  const { oidc } = section;
  if (oidc === undefined) return NONE;
  const read = oidc.ca === undefined ? undefined : readCertificates(directory, oidc.ca);
  if (read?.fault !== undefined) {
    const problem = {
      file: relative(directory, file),
      key: "console.oidc.ca",
      message: read.fault,
    };
    return { ...NONE, problems: [problem] };
  }
  const { createOidcProvider } = await import("./oidc-provider.ts");
  const provider = createOidcProvider({ oidc, ca: read?.text });
  const attempts = await context.once(openAttempts);
  const { log } = context;
  const begin: OidcParts["begin"] = async (person, grant) => {
    const token = await sessions.begin(person, grant);
    const { id, role } = person;
    log.info({ event: "console-signed-in", person: id, role, via: "oidc" }, "somebody signed in");
    return token;
  };
  // Strangers can bring the same line about as often as they like.
  const reportFailure = quietened(({ kind, reason, personId }: OidcFailure) =>
    log.warn(
      { event: "console-sign-in-refused", kind, reason, ...(personId && { person: personId }) },
      "somebody was not signed in by the provider",
    ),
  );
  const parts = { oidc, provider, attempts, place, begin, reportFailure };
  return { oidc: parts, problems: [], close: () => provider.close() };
}

/** Kept through reloads: who is at the provider meanwhile comes back. */
const openAttempts = (): OidcAttempts => new OidcAttempts();
