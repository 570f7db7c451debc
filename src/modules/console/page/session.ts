/** The signed-in person, for every part of the page. */
import type { Session } from "./api.ts";

let current: Session | undefined;

/** Remembers who is signed in; called once, before any page is drawn. */
export function rememberSession(session: Session): void {
  current = session;
}

/** The signed-in person. */
export function session(): Session {
  if (current === undefined) throw new Error("nobody is signed in yet");
  return current;
}

/** Tells whether the person may change anything. */
export function isOperator(): boolean {
  return current?.role === "operator";
}
