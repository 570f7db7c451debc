/** Agents of others that may be called without TLS. */
import type { Check } from "../finding.ts";

/** The check `allow-http`. */
export const allowHttp: Check = {
  id: "allow-http",
  asks: "are agents of others called over TLS?",
  look: ({ config: { agntcy }, configFile }) =>
    agntcy.flatMap((agent, index) =>
      agent["allow_http"] === true
        ? [
            {
              severity: "warning",
              file: configFile,
              key: `agntcy[${index}].allow_http`,
              message: "is true: tasks and credentials go to the upstream in plain HTTP",
              remedy: "give the upstream a certificate, and delete the line",
            },
          ]
        : [],
    ),
};
