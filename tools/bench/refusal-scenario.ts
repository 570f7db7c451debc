/** The scenario of refusals, each compared with a served call. */
import { aimAt } from "./aim.ts";
import { FRESH, ONE_IN_FLIGHT } from "./load-scenarios.ts";
import {
  type Contender,
  measureRounds,
  medianOf,
  ratioOf,
  type Sample,
  type Timing,
} from "./measure.ts";
import { agtpRequest, benchAgentId, ORDER } from "./order.ts";
import { LOCKED_PATH, orderPath, shopPath } from "./order-endpoint.ts";
import { atMost, type Row } from "./row.ts";
import type { ServerPool } from "./servers.ts";

/** Goal 5: a refusal costs no more than an answer, even for requests without a precedent. */
export async function measureRefusals(pool: ServerPool, timing: Timing): Promise<Row[]> {
  // With the request log: AGTP refusals are logged at any level, answers are not.
  const server = await pool.agtpd(10, { logLevel: "info", refusing: true });
  const path = orderPath(0);
  const aim: Aim = (status, ...requests) => aimAt(server, pool.ca, `AGTP/1.0 ${status}`, requests);
  const samples = await measureRounds(
    {
      served: await aim(200, agtpRequest("CREATE", path)),
      "459": await aim(459, agtpRequest("CRAETE", path)),
      "404": await aim(404, agtpRequest("CREATE", "/nowhere/00000")),
      "422": await aim(
        422,
        agtpRequest("CREATE", path, { body: '{"item":"espresso","quantity":0}' }),
      ),
      "459, each name another": await aim(459, ...everyOther((name) => agtpRequest(name, path))),
      "404, each path another": await aim(
        404,
        ...everyOther((name) => agtpRequest("CREATE", `/nowhere/${name}`)),
      ),
      "422, each member another": await aim(
        422,
        ...everyOther((name) => agtpRequest("CREATE", path, { body: `{"${name}":"espresso"}` })),
      ),
      "422, one member too many, each another": await aim(
        422,
        ...everyOther((name) =>
          agtpRequest("CREATE", path, { body: `${ORDER.slice(0, -1)},"${name}":1}` }),
        ),
      ),
      "422, each query field another": await aim(
        422,
        ...everyOther((name) => agtpRequest("CREATE", `${path}?${name}=1`)),
      ),
      "405": await aim(405, agtpRequest("QUERY", path)),
      "401, each agent another": await aim(
        401,
        ...everyOther((_, agent) => agtpRequest("CREATE", path, { agent: agent + 1_000 })),
      ),
      "460, each path another": await aim(
        460,
        ...everyOther((name) => agtpRequest("CREATE", `/create/${name}`)),
      ),
      "400 for what is no JSON, each another": await aim(
        400,
        ...everyOther((name) => agtpRequest("CREATE", path, { body: `{"${name}":nothing}` })),
      ),
      "400 for a query that is not encoded": await aim(
        400,
        agtpRequest("CREATE", `${path}?item=%zz`),
      ),
      "455": await aim(455, agtpRequest("CREATE", LOCKED_PATH)),
      "262, without an Agent-ID": await aim(262, withoutAgent(agtpRequest("CREATE", path))),
      "405 on a path of a template, each path another": await aim(
        405,
        ...everyOther((name) => agtpRequest("QUERY", shopPath(name))),
      ),
    },
    ONE_IN_FLIGHT,
    timing,
  );
  const { served: answered, ...refused } = samples;
  return [
    ...Object.entries(refused).map(([what, some]) =>
      besideServed(`${what}: server CPU a request`, some, answered),
    ),
    ...(await measureLastAnswers(aim, path, timing)),
  ];
}

function besideServed(what: string, some: readonly Sample[], answered: readonly Sample[]): Row {
  return {
    scenario: "refusals",
    label: `refused with ${what}`,
    unit: "µs",
    agtpd: medianOf(some, "cpuMicros"),
    goals: [atMost(ratioOf(some, answered, "cpuMicros"), 1, "served")],
  };
}

type Aim = (status: number, ...requests: readonly Buffer[]) => Promise<Contender>;

/** Measures refusals that end the connection, compared with a served request on a new connection. */
async function measureLastAnswers(aim: Aim, path: string, timing: Timing): Promise<Row[]> {
  const head = `AGTP/1.0 CREATE ${path}\r\nAgent-ID: ${benchAgentId(0)}\r\n`;
  const samples = await measureRounds(
    {
      served: await aim(200, agtpRequest("CREATE", path)),
      "400 for a body that is too long": await aim(
        400,
        Buffer.from(`${head}Content-Length: 99999999\r\n\r\n`),
      ),
      "400 for what cannot be framed, each another": await aim(
        400,
        ...everyOther((name) => Buffer.from(`${head}X-${name}: \u0001\r\n\r\n`)),
      ),
    },
    FRESH,
    timing,
  );
  const { served: answered, ...refused } = samples;
  return Object.entries(refused).map(([what, some]) =>
    besideServed(`${what}, then closed: server CPU a connection`, some, answered),
  );
}

function withoutAgent(request: Buffer): Buffer {
  return Buffer.from(request.toString("latin1").replace(/Agent-ID: \w+\r\n/, ""), "latin1");
}

const STRANGE_REQUESTS = 50_000;
const LETTERS = "QXZJKVWY";

/** A request for each of many distinct, unknown names of equal length. */
function everyOther(make: (name: string, index: number) => Buffer): readonly Buffer[] {
  return Array.from({ length: STRANGE_REQUESTS }, (_, index) => {
    const digits = index.toString(LETTERS.length).padStart(10, "0");
    return make(Array.from(digits, (digit) => LETTERS[Number(digit)] ?? "").join(""), index);
  });
}
