/** An authenticator of Chromium, for tests of passkeys in the browser. */
import type { Page } from "playwright-core";

/** The authenticator, as a test looks at it. */
interface VirtualPasskeys {
  count(): Promise<number>;
  clear(): Promise<void>;
}

/** Plugs an authenticator in, whose person is always there and agrees. */
export async function plugIn(page: Page): Promise<VirtualPasskeys> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  });
  return {
    count: async () => {
      const { credentials } = await session.send("WebAuthn.getCredentials", { authenticatorId });
      return credentials.length;
    },
    clear: async () => {
      await session.send("WebAuthn.clearCredentials", { authenticatorId });
    },
  };
}

/** Registers a passkey on the Account page. */
export async function register(page: Page, name: string): Promise<void> {
  await page.getByLabel("Name of the passkey").fill(name);
  await page.getByRole("button", { name: "Register passkey" }).click();
  await page.getByRole("article", { name }).waitFor();
}
