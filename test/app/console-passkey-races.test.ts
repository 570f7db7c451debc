/** Passkeys of one person that come and go at two places at once: in two sessions, and at two nodes. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Link } from "../../tools/torture/cluster/link.ts";
import { ALMA, approvingFiles, booking } from "../support/approving.ts";
import { CONSOLE, type ConsoleVisitor, openConsole, type TestConsole } from "../support/console.ts";
import { askHouse } from "../support/console-house.ts";
import { PATIENT_CLUSTER } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";
import { makeSoftPasskey, type SoftPasskey } from "../support/soft-passkey.ts";

const ROUNDS = 3;
const SESSIONS = 6;
/** A link of a node so slow that it hears of nothing before the next request. */
const LATE_MS = 50;

/** The body of a registration, without a signature of an earlier passkey. */
async function registrationOf(
  visitor: ConsoleVisitor,
  passkey: SoftPasskey,
): Promise<{ readonly name: string; readonly registration: object }> {
  const { body } = await visitor.post("/api/passkeys/challenge", { for: "registration" });
  return { name: "a key", registration: passkey.register(body.options) };
}

/** The signature of a passkey over what the browser is asked. */
async function signed(visitor: ConsoleVisitor, passkey: SoftPasskey, about: object) {
  const { body } = await visitor.post("/api/passkeys/challenge", about);
  return passkey.sign(body.options);
}

async function codeOf(answer: ReturnType<ConsoleVisitor["post"]>) {
  const { status, body } = await answer;
  return [status, body.error?.code];
}

const REQUIRED = [403, "passkey-required"];

it("one of many first passkeys is registered, and each further one is signed for", async () => {
  const house = await openConsole(await approvingFiles([], CONSOLE));
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `Nina ${round}`;
    const opening = Array.from({ length: SESSIONS }, () => house.signIn({ name }));
    const visitors = await Promise.all(opening);
    const passkeys = visitors.map(() => makeSoftPasskey(house.origin));
    const sent = await Promise.all(
      visitors.map((visitor, at) => registrationOf(visitor, passkeys[at] as SoftPasskey)),
    );
    const answers = await Promise.all(
      visitors.map((visitor, at) => codeOf(visitor.post("/api/passkeys", sent[at] ?? {}))),
    );
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1);
    const lost = answers.filter(([status]) => status !== 200);
    expect(lost).toEqual(Array.from({ length: SESSIONS - 1 }, () => REQUIRED));
    const won = answers.findIndex(([status]) => status === 200);
    const [nina] = visitors;
    const { body } = (await nina?.get("/api/passkeys")) ?? {};
    expect(body.passkeys.map(({ id }: SoftPasskey) => id)).toEqual([passkeys[won]?.id]);
  }
});

describeWithPostgres("a passkey, with two nodes that hear late of each other", () => {
  async function openNodes(): Promise<readonly [TestConsole, TestConsole]> {
    const url = await postgres().makeDatabase();
    const link = await Link.open(join(postgres().directory, ".s.PGSQL.5432"));
    onTestFinished(() => link.close());
    const database = url.slice(url.indexOf("@/") + 2, url.indexOf("?"));
    const open = async (node: string, store: string): Promise<TestConsole> => {
      const cluster = { node, ...PATIENT_CLUSTER };
      const tables = { store: { driver: "postgres", url: store }, cluster };
      return openConsole(await approvingFiles([], { ...CONSOLE, ...tables }));
    };
    const near = await open("a", url);
    const far = await open("b", `postgres://agtp@127.0.0.1:${link.port}/${database}`);
    link.slow(LATE_MS);
    return [near, far];
  }

  it("is asked for on either as soon as it is registered, and is none on either once it is removed", async () => {
    const [near, far] = await openNodes();
    const here = await near.signIn({ name: "Nina" });
    const there = await far.signIn({ name: "Nina" });
    const [first, second] = [makeSoftPasskey(near.origin), makeSoftPasskey(near.origin)];
    const asked = await askHouse(near, ALMA, booking("7"));
    const path = `/api/approvals/${String(asked.body["escalation_id"])}`;
    const other = await registrationOf(there, makeSoftPasskey(far.origin));

    const registered = await here.post("/api/passkeys", await registrationOf(here, first));
    expect(registered.status, registered.text).toBe(200);
    expect(await codeOf(there.post(path, { decision: "accepted" }))).toEqual(REQUIRED);
    expect(await codeOf(there.post("/api/passkeys", other))).toEqual(REQUIRED);

    const assertion = await signed(here, first, { for: "addition" });
    const added = { ...(await registrationOf(here, second)), assertion };
    expect((await here.post("/api/passkeys", added)).status).toBe(200);
    const about = { for: "removal", passkey_id: first.id };
    const removed = await here.post(`/api/passkeys/${first.id}`, {
      ...{ action: "remove", assertion: await signed(here, second, about) },
    });
    expect(removed.status, removed.text).toBe(200);
    const { body } = await there.get("/api/passkeys");
    expect(body.passkeys.map(({ id }: SoftPasskey) => id)).toEqual([second.id]);
  });
});
