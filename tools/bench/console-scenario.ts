/** The scenario of `[console]`: its cost for requests, with no viewer and with ten. */
import { type IncomingMessage, request } from "node:http";
import { askControl } from "../../src/client/ask-control.ts";
import { controlPath } from "../../src/state/state-directory.ts";
import { ONE_IN_FLIGHT } from "./load-scenarios.ts";
import { measureRounds, medianOf, ratioOf, type Sample, type Timing } from "./measure.ts";
import { served } from "./peers.ts";
import { atLeast, type Goal, type Row } from "./row.ts";
import type { ServerProcess } from "./server-process.ts";
import type { ServerPool } from "./servers.ts";

const ONLOOKERS = 10;

/** Measures without a console, with one, and with viewers that read its events, in turn. */
export async function measureConsole(pool: ServerPool, timing: Timing): Promise<Row[]> {
  const watched = await pool.agtpd(10, { records: "signed", console: true });
  const contenders = {
    off: await served(pool, await pool.agtpd(10, { records: "signed" }), 10),
    on: await served(pool, await pool.agtpd(10, { records: "signed", console: true }), 10),
    watched: await served(pool, watched, 10),
  };
  const leave = await lookOn(watched);
  const samples = await measureRounds(contenders, ONE_IN_FLIGHT, timing);
  leave();
  const scenario = "console";
  const common = { scenario, unit: "req/s" } as const;
  return [
    {
      ...common,
      label: "signed calls, no console",
      agtpd: medianOf(samples.off, "perSecond"),
      goals: [],
    },
    {
      ...common,
      label: "signed calls, a console with nobody looking",
      agtpd: medianOf(samples.on, "perSecond"),
      goals: [share(samples.on, samples.off, 0.99)],
    },
    {
      ...common,
      label: `signed calls, a console with ${ONLOOKERS} onlookers`,
      agtpd: medianOf(samples.watched, "perSecond"),
      goals: [share(samples.watched, samples.off, 0.95)],
    },
  ];
}

/** Requests per processor time, relative to the base; other load on the machine does not count. */
function share(samples: readonly Sample[], base: readonly Sample[], bound: number): Goal {
  return atLeast(ratioOf(base, samples, "cpuMicros"), bound, "of none, by CPU");
}

/** Opens event streams; returns a function that closes them. */
async function lookOn({ consolePort, directory }: ServerProcess): Promise<() => void> {
  const origin = `http://localhost:${consolePort}`;
  const asked = JSON.stringify({ command: "login", options: { name: "bench" } });
  const { result } = JSON.parse(await askControl(controlPath(directory), asked));
  const { searchParams } = new URL(result.url);
  const entered = await fetch(`${origin}/sign-in`, {
    ...{ method: "POST", body: searchParams, headers: { origin }, redirect: "manual" },
  });
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const streams = await Promise.all(
    Array.from({ length: ONLOOKERS }, () => openStream(`${origin}/api/events`, cookie)),
  );
  return () => {
    for (const stream of streams) stream.destroy();
  };
}

function openStream(url: string, cookie: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { cookie } }, (stream) => {
      stream.resume();
      resolve(stream);
    });
    asked.once("error", reject);
    asked.end();
  });
}
