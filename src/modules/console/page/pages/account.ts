/** Account: the signed-in person, their passkeys, and the keys pinned in this browser. */
import { asApiError, isOperator, session, useApi } from "../api.ts";
import { type Action, Change } from "../parts/change.ts";
import { Facts, Moment, Stranger } from "../parts/facts.ts";
import { loaded, Page, Section, say } from "../parts/page.ts";
import { notePasskeys, postSigned, registerPasskey } from "../passkeys.ts";
import { html, useState, type VNode } from "../preact.ts";
import { KeyPanel, useKeys } from "../records/keys.ts";
import { address } from "../router.ts";
import { visible } from "../text.ts";

/** The page at `/account`. */
export function AccountPage(): VNode {
  const { name, role, server_id, inspect_only } = session();
  const keys = useKeys();
  const facts = [
    ["Name", html`<${Stranger} text=${name} />`],
    ["Role", role === "operator" ? "operator: sees and decides" : "viewer: sees"],
    ["Server", html`<${Stranger} text=${server_id} />`],
  ];
  return html`<${Page} name="Account">
    <${Facts} facts=${facts} />
    ${isOperator() && !inspect_only && html`<${Section} title="Passkeys"><${PasskeyPanel} /><//>`}
    <${Section} title="Keys"><${KeyPanel} keys=${keys} /><//>
  <//>`;
}

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly used_at: string | null;
}

interface Passkeys {
  readonly passkeys: readonly Passkey[];
  readonly origin: string;
  readonly usable: boolean;
}

function PasskeyPanel(): VNode {
  return loaded(useApi<Passkeys>("/api/passkeys"), passkeyList);
}

function passkeyList({ passkeys, origin, usable }: Passkeys, reload: () => void): VNode {
  notePasskeys(passkeys.length > 0);
  const isHere = usable && location.origin === origin;
  return html`<p>${
    passkeys.length === 0
      ? "With a passkey you sign what you approve, and anybody can check the signature later. Once you have one, you approve with it alone."
      : "You approve with a passkey alone. Its signature stands in the record."
  }</p>
    ${passkeys.map((one) => html`<${One} key=${one.id} passkey=${one} reload=${reload} />`)}
    ${
      isHere
        ? html`<${Registration} hasOne=${passkeys.length > 0} reload=${reload} />`
        : html`<p class="quiet">${usable ? `Passkeys are for ${visible(origin)}: open the console there.` : `Passkeys need a name: base_url under [console], instead of ${visible(origin)}.`}</p>`
    }`;
}

function One(props: { readonly passkey: Passkey; readonly reload: () => void }): VNode {
  const { passkey, reload } = props;
  const { id, name, created_at, used_at } = passkey;
  const remove: Action = {
    ...{ name: "Remove", tone: "bad", done: "The passkey is removed." },
    confirm: `Remove the passkey ${visible(name)}? It takes its signature, or another one's.`,
    run: () =>
      postSigned(
        `/api${address("passkeys", id)}`,
        { action: "remove" },
        { for: "removal", passkey_id: id },
      ),
  };
  return html`<article aria-label=${visible(name)}>
    <h3><${Stranger} text=${name} /></h3>
    <p class="quiet">Registered <${Moment} at=${created_at} />, ${
      used_at === null ? "not used yet" : html`last used <${Moment} at=${used_at} />`
    }.</p>
    <${Change} id=${id} hasReason=${false} actions=${[remove]} onDone=${reload} />
  </article>`;
}

function Registration(props: { readonly hasOne: boolean; readonly reload: () => void }): VNode {
  const { hasOne, reload } = props;
  const [name, setName] = useState("");
  const [isBusy, setBusy] = useState(false);
  const register = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await registerPasskey(name.trim(), hasOne);
      say("The passkey is registered.");
      setName("");
      reload();
    } catch (error) {
      say(`Register passkey failed: ${asApiError(error).message}`, true);
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="try" onSubmit=${register}>
    <label class="field" for="passkey-name">Name of the passkey
      <input id="passkey-name" type="text" required maxlength="64" autocomplete="off" value=${name}
        onInput=${(event: InputEvent) => setName((event.target as HTMLInputElement).value)} />
    </label>
    <div class="buttons"><button type="submit" aria-disabled=${isBusy ? "true" : undefined}>Register passkey</button></div>
  </form>`;
}
