/**
 * Texts that a person is writing, kept by this tab until they are sent or its person logs out: a session
 * that ends meanwhile leads away from the page and back to it.
 */
import { useState } from "./preact.ts";

/** A text of the page of this address, and its change; one that is again the first is not kept. */
export function useDraft(field: string, first = ""): readonly [string, (text: string) => void] {
  const key = JSON.stringify([location.pathname, field]);
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? first);
  const change = (changed: string): void => {
    setText(changed);
    try {
      if (changed === first) sessionStorage.removeItem(key);
      else sessionStorage.setItem(key, changed);
    } catch {
      // The tab has no more room: the text stands on the page alone.
    }
  };
  return [text, change];
}

const PERSON = "person";

/** Forgets those of anybody else. */
export function keepDraftsOf(personId: string): void {
  if (sessionStorage.getItem(PERSON) === personId) return;
  sessionStorage.clear();
  sessionStorage.setItem(PERSON, personId);
}
