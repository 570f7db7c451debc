/** How long what a peer shows is believed.   AGTP-API §8.8 */
import { expect, it, onTestFinished, vi } from "vitest";
import { createPeerManifests } from "../../../src/modules/delegation/peer-clients.ts";
import type { PeerServer } from "../../../src/modules/delegation/peers.ts";

it("a fault keeps nobody from asking a peer again a second later, and is its caller's alone", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const manifests = createPeerManifests();
  onTestFinished(() => manifests.close());
  let asked = 0;
  const peer = {
    name: "east",
    address: undefined,
    get serverId(): string {
      asked += 1;
      if (asked === 1) throw new Error("a fault");
      return "east";
    },
  } as PeerServer;
  await expect(manifests.agentsOf(peer)).rejects.toThrow("a fault");
  await expect(manifests.agentsOf(peer)).rejects.toThrow("a fault");
  vi.advanceTimersByTime(1_001);
  expect(await manifests.agentsOf(peer)).toBeUndefined();
  expect(asked).toBe(2);
});
