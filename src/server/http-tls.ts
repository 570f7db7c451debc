/** The certificate of the HTTP listener.   `[gateway]` */
import { relative } from "node:path";
import type { ConfigPlace } from "../base/config-place.ts";
import type { Problem } from "../base/problem.ts";
import { readCertificate } from "./certificate.ts";
import type { HttpTls } from "./http-listener.ts";

/** The certificate, or what is wrong with it. */
export interface LoadedHttpTls {
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  readonly problems: readonly Problem[];
}

/** The keys that say so. */
export interface HttpTlsSource extends Pick<ConfigPlace, "directory"> {
  readonly gateway: { readonly enabled: boolean; readonly cert?: string; readonly key?: string };
}

/** Loads the certificate that the configuration names, where it is needed. */
export function loadHttpTls({ gateway, directory }: HttpTlsSource): LoadedHttpTls {
  const { enabled, cert, key } = gateway;
  if (!enabled || cert === undefined || key === undefined) return { tls: undefined, problems: [] };
  const reading = readCertificate(cert, key);
  if (reading.problems === undefined) return { tls: reading, problems: [] };
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(directory, problem.file) || problem.file,
  }));
  return { tls: undefined, problems };
}
