/** The signed-in person's passkeys, and the challenges to sign. */
import { isIP } from "node:net";
import type { JsonRecord } from "../../../base/json-value.ts";
import { VERDICTS, type Verdict } from "../../../state/registers/escalation.ts";
import { type ApiRequest, type ApiRoute, get, post, textIn } from "../console-api.ts";
import { ConsoleFault, found, malformed } from "../console-fault.ts";
import {
  ANSWERS,
  answerIn,
  type PasskeyDesk,
  signatureIn,
  signatureRequired,
  signedDecision,
} from "../passkey-desk.ts";
import { findPasskey, MAX_PASSKEYS, type Passkey, passkeyView } from "../passkeys.ts";
import { operatorOfPerson } from "../person.ts";
import type { Sources } from "./sources.ts";

const MAX_NAME = 64;
/** Members that name the subject to sign. */
const SUBJECT = ["for", "passkey_id", "escalation_id", "decision", ...ANSWERS];
const ADDITION: JsonRecord = { purpose: "another passkey" };

function removal(id: string): JsonRecord {
  return { purpose: "removal", passkey: id };
}

/** `/api/passkeys`, `/api/passkeys/challenge` and `/api/passkeys/{id}` */
export function passkeyRoutes(parts: Sources): readonly ApiRoute[] {
  const { desk } = parts;
  return [
    get("/passkeys", ({ signedIn: { person } }) => ({
      passkeys: desk.passkeys.ofOwner(person.id).map(viewOf),
      ...placeOf(desk),
    })),
    post("/passkeys/challenge", SUBJECT, (request) => challenge(parts, request)),
    post("/passkeys", ["name", "registration", "assertion"], (request) => register(parts, request)),
    post("/passkeys/:id", ["action", "assertion"], (request) => remove(parts, request)),
  ];
}

/** `{for: "registration" | "addition" | "removal" | "decision", …}` */
async function challenge({ desk, state }: Sources, request: ApiRequest): Promise<object> {
  const { body, signedIn } = request;
  const { beginRegistration, beginSignature } = await desk.ceremonies();
  switch (textIn(body, "for", ["registration", "addition", "removal", "decision"])) {
    case "registration":
      if (!placeOf(desk).usable) throw unusable(desk);
      return { options: await beginRegistration(desk, signedIn) };
    case "addition":
      return beginSignature(desk, signedIn, ADDITION);
    case "removal":
      return beginSignature(desk, signedIn, removal(textIn(body, "passkey_id")));
    default: {
      const id = textIn(body, "escalation_id");
      const escalation = found(state.escalations.find(id), "escalation");
      const decision = textIn(body, "decision", VERDICTS) as Verdict;
      const subject = signedDecision(escalation, decision, answerIn(body));
      return beginSignature(desk, signedIn, subject);
    }
  }
}

async function register({ desk }: Sources, request: ApiRequest): Promise<object> {
  const { body, signedIn } = request;
  const name = textIn(body, "name");
  if (name.length > MAX_NAME) throw malformed(`name must be at most ${MAX_NAME} characters long`);
  const { id: personId } = signedIn.person;
  const own = desk.passkeys.ofOwner(personId);
  if (own.length >= MAX_PASSKEYS) throw full();
  const operator = operatorOfPerson(signedIn.person);
  const isFirst = own.length === 0;
  if (!isFirst) await signatureIn(desk, request, ADDITION);
  const { endRegistration } = await desk.ceremonies();
  const passkey = await endRegistration(desk, signedIn, { name, response: body["registration"] });
  const adding = await desk.passkeys.add(passkey.id, passkey, {
    turn: `first of ${personId}`,
    // If another was registered meanwhile, here or on another node, this one needed a signature.
    unless: () => (isFirst ? desk.passkeys.ofOwner(personId)[0] : undefined),
  });
  if (adding.kind === "taken" && adding.item.id !== passkey.id) throw signatureRequired();
  if (adding.kind !== "added") throw full();
  const signed = isFirst ? operator : ({ ...operator, via: "passkey" } as const);
  try {
    await desk.record("passkey_registered", passkey, signed);
  } catch (error) {
    // A passkey without a record must not sign.
    await desk.passkeys.delete([passkey.id]);
    throw error;
  }
  await desk.passkeys.everywhere(passkey.id);
  return { passkey: viewOf(passkey) };
}

async function remove({ desk }: Sources, request: ApiRequest): Promise<object> {
  const { body, params, signedIn } = request;
  textIn(body, "action", ["remove"]);
  const own = findPasskey(desk.passkeys, signedIn.person.id, params["id"] ?? "");
  const passkey = found(own, "passkey of yours");
  await signatureIn(desk, request, removal(passkey.id));
  const operator = operatorOfPerson(signedIn.person);
  // A passkey is removed only after a record says so.
  await desk.record("passkey_removed", passkey, { ...operator, via: "passkey" });
  await desk.passkeys.deleteEverywhere([passkey.id]);
  return {};
}

function full(): ConsoleFault {
  const message = `there is no room for it: a person has at most ${MAX_PASSKEYS} passkeys, each once`;
  return new ConsoleFault(409, "passkeys-full", message);
}

function unusable(desk: PasskeyDesk): ConsoleFault {
  const { origin } = placeOf(desk);
  const message = `a passkey is for a name, and ${origin} is none: set base_url under [console]`;
  return new ConsoleFault(409, "passkeys-unusable", message);
}

/** The origin at which passkeys work; they need a host name. */
function placeOf({ place }: PasskeyDesk) {
  const { origin, hostname } = new URL(place.baseUrl);
  return { origin, usable: isIP(hostname.replace(/^\[|\]$/g, "")) === 0 };
}

function viewOf(passkey: Passkey): JsonRecord {
  return { id: passkey.id, ...passkeyView(passkey) };
}
