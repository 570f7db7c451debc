/** The certificates of HTTP listeners.   `[gateway]`, `[console]` */
import { relative } from "node:path";
import type { ConfigPlace } from "../base/deployment-files.ts";
import type { Problem } from "../base/problem.ts";
import { readCertificate } from "./certificate.ts";
import type { HttpTls } from "./http-listener.ts";

/** The certificate, or what is wrong with it. */
interface LoadedHttpTls {
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  readonly problems: readonly Problem[];
}

/** The section of a listener. */
interface HttpTlsSection {
  readonly enabled: boolean;
  readonly cert?: string;
  readonly key?: string;
}

/** Loads the certificate that a section names, where it is needed. */
export function loadHttpTls(
  { enabled, cert, key }: HttpTlsSection,
  { directory }: Pick<ConfigPlace, "directory">,
): LoadedHttpTls {
  if (!enabled || cert === undefined || key === undefined) return { tls: undefined, problems: [] };
  const reading = readCertificate(cert, key);
  if (reading.problems === undefined) return { tls: reading, problems: [] };
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(directory, problem.file) || problem.file,
  }));
  return { tls: undefined, problems };
}
