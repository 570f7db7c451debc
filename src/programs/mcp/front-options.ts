/** The options of `agtp-mcp URI`: the server, and the identity of the caller. */

export const FRONT_ARGS = {
  "<uri>": "agtp://HOST[:PORT], the server to stand in front of",
} as const;

export const FRONT_OPTIONS = {
  "--agent-id <id>": { help: "Agent-ID: who asks", words: "agents" },
  "--scope <scopes>": { help: "Authority-Scope: a:b,c:d", isJoined: true },
  "--bearer <token>": "a token of OAuth, or @FILE",
  "--cert <file>": "certificate of the agent, PEM",
  "--key <file>": "its key, PEM",
  "--ca <file>": "authorities to trust, PEM; on loopback default .agtp/tls/cert.pem",
  "--insecure": "trust any certificate",
  "--look <seconds>": "how often to look for changed tools, default 60",
} as const;
