/** Changes that a person with a passkey signs; the daemon says so where this page does not know it. */
import { ApiError, post } from "../api.ts";
import { session } from "../session.ts";
import { startAuthentication, startRegistration } from "../webauthn.ts";

/** The thing that is signed, as the daemon makes a challenge for it. */
export type Subject = Readonly<Record<string, string>>;

type RegistrationOptions = Parameters<typeof startRegistration>[0]["optionsJSON"];
type SigningOptions = Parameters<typeof startAuthentication>[0]["optionsJSON"];

let known: boolean | undefined;

/** Notes whether the person has a passkey by now. */
export function notePasskeys(hasOne: boolean): void {
  known = hasOne;
}

/** Changes something, with the person's signature where it takes one. @throws ApiError */
export async function postSigned<T>(path: string, body: object, subject?: Subject): Promise<T> {
  const hasOne = known ?? session().has_passkey;
  if (subject === undefined) return post<T>(path, body);
  try {
    return await post<T>(path, hasOne ? { ...body, assertion: await sign(subject) } : body);
  } catch (error) {
    const code = error instanceof ApiError ? error.code : "";
    if (code !== (hasOne ? "no-passkey" : "passkey-required")) throw error;
  }
  notePasskeys(!hasOne);
  return post<T>(path, hasOne ? body : { ...body, assertion: await sign(subject) });
}

/** Makes a passkey and registers it; another one is signed for by one that is there. */
export async function registerPasskey(name: string, hasOne: boolean): Promise<void> {
  const assertion = hasOne ? { assertion: await sign({ for: "addition" }) } : {};
  const { options } = await post<{ options: RegistrationOptions }>("/api/passkeys/challenge", {
    for: "registration",
  });
  const registration = await startRegistration({ optionsJSON: options });
  await post("/api/passkeys", { name, registration, ...assertion });
  notePasskeys(true);
}

async function sign(subject: Subject): Promise<object> {
  const { options } = await post<{ options: SigningOptions }>("/api/passkeys/challenge", subject);
  return startAuthentication({ optionsJSON: options });
}
