/** Where the console says that it is. */
import { describe, expect, it } from "vitest";
import type { ConsoleSections } from "../../../src/modules/console/config.ts";
import { ConsolePlace } from "../../../src/modules/console/place.ts";

function placeAt(config: Partial<ConsoleSections["console"]>, port = 4490): ConsolePlace {
  const sections = { console: config, server: { serverId: "shop.example" } };
  const place = new ConsolePlace(sections as ConsoleSections);
  place.bind(port, () => undefined as never);
  return place;
}

describe("the place of the console", () => {
  it.each(["localhost", "127.0.0.1", "0.0.0.0", "::"])(
    "is localhost where it listens on %s",
    (host) => {
      expect(placeAt({ host }).baseUrl).toBe("http://localhost:4490");
    },
  );

  it.each([
    ["127.0.0.2", "http://127.0.0.2:4490"],
    ["desk.hotel.example", "http://desk.hotel.example:4490"],
    ["fd00::7", "http://[fd00::7]:4490"],
    ["::1", "http://[::1]:4490"],
  ])("is its host where localhost does not lead to it: %s", (host, url) => {
    const place = placeAt({ host });
    expect(place.baseUrl).toBe(url);
    expect(place.isOurs(new URL(url).host)).toBe(true);
  });

  it.each([
    [80, undefined, "http"],
    [443, "tls/console-cert.pem", "https"],
  ])("has its names without the port %d, as browsers write them", (port, cert, scheme) => {
    const place = placeAt({ host: "10.0.0.7", ...(cert && { cert }) }, port);
    for (const name of ["localhost", "127.0.0.1", "[::1]", "10.0.0.7"]) {
      expect([name, place.isOurs(name), place.isOurs(`${name}:${port}`)]).toEqual([
        name,
        true,
        true,
      ]);
      expect(place.isOwnOrigin(`${scheme}://${name}`, name)).toBe(true);
    }
    const others = ["hotel.example", "10.0.0.7:8080", `hotel.example:${port}`, ""];
    expect(others.filter((host) => place.isOurs(host))).toEqual([]);
    expect(placeAt({ host: "10.0.0.7" }).isOurs("localhost")).toBe(false);
  });

  it("is what the operator says", () => {
    const baseUrl = "https://console.hotel.example/";
    expect(placeAt({ host: "127.0.0.2", baseUrl }).baseUrl).toBe("https://console.hotel.example");
  });
});
