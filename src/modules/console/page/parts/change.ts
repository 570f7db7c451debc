/**
 * The actions of an operator on one thing: a reason, and a button for each action. An action that is hard to undo asks
 * for confirmation in place of the buttons. A busy button is not `disabled`, which would take the focus from it.
 */
import { asApiError } from "../api.ts";
import { useDraft } from "../drafts.ts";
import { html, useEffect, useRef, useState, type VNode } from "../preact.ts";
import { say } from "./page.ts";

export interface Action {
  /** The button's label. */
  readonly name: string;
  /** Performs the action, with the given reason. */
  readonly run: (reason: string) => Promise<unknown>;
  /** The message after success. */
  readonly done: string;
  /** The question to confirm first. */
  readonly confirm?: string;
  readonly tone?: "good" | "bad";
  /** Present if the action is final, so that its record must say why. */
  readonly needsReason?: true;
}

/** The actions on one thing; Escape cancels a question. */
export function Change(props: {
  readonly actions: readonly Action[];
  readonly onDone: () => void;
  /** Prefix of element ids, unique on the page. */
  readonly id: string;
  readonly hasReason?: boolean;
}): VNode {
  const { actions, onDone, id, hasReason = true } = props;
  const [asked, setAsked] = useState<Action | undefined>(undefined);
  const box = useRef<HTMLElement | null>(null);
  /** The action whose question was cancelled, until its button has the focus again. */
  const [left, setLeft] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (left === undefined) return;
    box.current?.querySelector<HTMLElement>(`button[data-action="${left}"]`)?.focus();
    setLeft(undefined);
  }, [left]);
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [reason, setReason] = useDraft(`reason-${id}`);
  const run = async (action: Action): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      await action.run(reason.trim());
      say(action.done);
      setReason("");
      onDone();
    } catch (error) {
      say(`${action.name} failed: ${asApiError(error).message}`, true);
      if (action.confirm !== undefined) setLeft(action.name);
    } finally {
      setBusy(false);
      setAsked(undefined);
    }
  };
  const take = (action: Action): void => {
    const isUnfounded = action.needsReason === true && reason.trim() === "";
    setFault(isUnfounded ? `${action.name} needs a reason.` : undefined);
    if (isUnfounded) box.current?.querySelector("textarea")?.focus();
    else if (action.confirm === undefined) void run(action);
    else setAsked(action);
  };
  const field = html`<label class="field" for=${`reason-${id}`}>Reason
    <textarea id=${`reason-${id}`} rows="2" maxlength="1000" value=${reason} aria-invalid=${fault === undefined ? undefined : "true"}
      onInput=${(event: InputEvent) => setReason((event.target as HTMLTextAreaElement).value)}></textarea>
  </label>`;
  const cancel = (): void => {
    setLeft(asked?.name);
    setAsked(undefined);
  };
  const leave = ({ key }: KeyboardEvent): void => {
    if (key === "Escape" && asked !== undefined && !isBusy) cancel();
  };
  return html`<div class="change" ref=${box} onKeyDown=${leave}>
    ${hasReason && field}
    ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      asked === undefined
        ? html`<div class="buttons">${actions.map((action) => buttonOf(action, isBusy, () => take(action)))}</div>`
        : html`<${Question} action=${asked} isBusy=${isBusy} onYes=${() => run(asked)} onNo=${cancel} />`
    }
  </div>`;
}

function buttonOf(action: Action, isBusy: boolean, onClick: () => void): VNode {
  return html`<button key=${action.name} type="button" class=${action.tone} data-action=${action.name} aria-disabled=${isBusy ? "true" : undefined} onClick=${onClick}>${action.name}</button>`;
}

/** The confirmation of an action, which takes the focus. */
function Question(props: {
  readonly action: Action;
  readonly isBusy: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}): VNode {
  const { action, isBusy, onYes, onNo } = props;
  const text = useRef<HTMLElement | null>(null);
  useEffect(() => text.current?.focus(), []);
  return html`<div class="question" role="group" aria-label=${action.confirm}>
    <p tabindex="-1" ref=${text}>${action.confirm}</p>
    <div class="buttons">
      <button type="button" onClick=${onNo}>Cancel</button>
      ${buttonOf(action, isBusy, onYes)}
    </div>
  </div>`;
}
